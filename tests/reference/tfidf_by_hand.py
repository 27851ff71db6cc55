"""TF-IDF as the textbook has it: (1 + ln tf) * (1 + ln((1 + n) / (1 + df))), each row of length one."""

from __future__ import annotations

import math

import numpy as np


def tfidf_by_hand(documents: list[list[str]]) -> np.ndarray:
    """Rows are documents, columns the words in alphabetical order."""
    vocabulary = sorted({word for document in documents for word in document})
    table = np.zeros((len(documents), len(vocabulary)))
    for row, document in enumerate(documents):
        for column, word in enumerate(vocabulary):
            if word in document:
                containing = sum(word in other for other in documents)
                idf = 1 + math.log((1 + len(documents)) / (1 + containing))
                table[row, column] = (1 + math.log(document.count(word))) * idf
        table[row] /= math.sqrt((table[row] ** 2).sum())
    return table
