"""TF-IDF and a truncated SVD of the catalogue itself: an encoder without weights, for any language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import ArtifactError, InputError
from sidrec.embeddings.base import Encoder, EncoderState

WIDTH = 256
MAX_WORDS = 50_000
MAX_FITTED = 100_000
"""Texts the words and axes are learned from; more would cost memory and change nothing that matters."""
_BATCH = 4096

# scripts written without spaces (kana, han, Thai, Lao, Burmese, Khmer) are read as pairs of characters;
# vowel signs and other marks are not \w for Python, so their blocks are named, or Hindi would fall to pieces
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0dff\u200c\u200d"
_RUN = re.compile(rf"([{_UNSPACED}]+)|((?:[^\W_{_UNSPACED}]|[{_MARKS}])+)")


def words(text: str) -> list[str]:
    """The words of a text: runs of letters and digits, character pairs in scripts without spaces."""
    found: list[str] = []
    for unspaced, word in _RUN.findall(text.casefold()):
        if word:
            found.append(word)
        elif len(unspaced) == 1:
            found.append(unspaced)
        else:
            found += [unspaced[at : at + 2] for at in range(len(unspaced) - 1)]
    return found


class TfidfEncoder(Encoder):
    """Width is 256, or as many directions as the fitted texts have."""

    def __init__(self, width: int = WIDTH) -> None:
        self._wanted = width
        self._vectorizer: Any = None
        self._components = np.zeros((0, 0), dtype=np.float32)  # (width, words)

    @property
    def width(self) -> int:
        return len(self._components)

    def fit(self, texts: Sequence[str]) -> None:
        from sklearn.utils.extmath import randomized_svd

        step = -(-len(texts) // MAX_FITTED)
        self._vectorizer = _new_vectorizer()
        try:
            weights = self._vectorizer.fit_transform(texts[::step])
        except ValueError:
            raise InputError("no item text has a single word in it, so tfidf has nothing to learn from.") from None
        # TruncatedSVD itself refuses a vocabulary of one word
        _, _, axes = randomized_svd(weights, min(self._wanted, *weights.shape), random_state=0)
        self._components = np.asarray(axes, dtype=np.float32)

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        if self._vectorizer is None:
            raise InputError("the tfidf encoder has learned no words yet; fit it on the catalogue's texts first.")
        for start in range(0, len(texts), _BATCH):
            part = texts[start : start + _BATCH]
            weights = self._vectorizer.transform(part)
            yield np.arange(start, start + len(part)), np.asarray(weights @ self._components.T, dtype=np.float32)

    def state(self) -> EncoderState:
        arrays = {"idf": self._vectorizer.idf_.astype(np.float32), "components": self._components}
        return EncoderState(self._vectorizer.get_feature_names_out().tolist(), arrays)

    def restore(self, state: EncoderState) -> None:
        widths = {name: array.shape[-1:] for name, array in state.arrays.items()}
        if widths != dict.fromkeys(("idf", "components"), (len(set(state.words)),)):
            raise ArtifactError("the words and numbers of the tfidf encoder do not fit together; embed again.")
        self._vectorizer = _new_vectorizer(state.words)
        self._vectorizer.idf_ = state.arrays["idf"]
        self._components = state.arrays["components"]


def _new_vectorizer(vocabulary: list[str] | None = None) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    limit = MAX_WORDS if vocabulary is None else None
    return TfidfVectorizer(
        analyzer=words, sublinear_tf=True, max_features=limit, vocabulary=vocabulary, dtype=np.float32
    )
