"""Items by words of their titles: every word counts, the last one may be unfinished, rare words count more."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np
import polars as pl
from numpy.typing import NDArray

_WORD = r"[\p{L}\p{N}]+"
_UNFINISHED = 0.7
"""What the beginning of a word counts, beside the whole word."""


@dataclass(frozen=True)
class TitleSearch:
    """Word w of the sorted vocabulary is in the titles of the items `items[starts[w]:starts[w + 1]]`."""

    words: list[str]
    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    lengths: NDArray[np.int64]
    counts: NDArray[np.int64]
    """How often each item was taken: of two equal matches the more popular one comes first."""

    @classmethod
    def of(cls, titles: Sequence[str], counts: NDArray[np.int64]) -> TitleSearch:
        frame = pl.DataFrame({"title": pl.Series(titles, dtype=pl.String)}).with_row_index("item")
        found = frame.select("item", word=pl.col("title").str.to_lowercase().str.extract_all(_WORD))
        lengths = found["word"].list.len().to_numpy().astype(np.int64)
        pairs = found.explode("word").drop_nulls().unique().sort("word", "item")
        grouped = pairs.group_by("word", maintain_order=True).len()
        sizes = grouped["len"].to_numpy().astype(np.int64)
        return cls(
            words=grouped["word"].to_list(),
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            items=pairs["item"].to_numpy().astype(np.int64),
            lengths=lengths,
            counts=counts,
        )

    def find(self, query: str, limit: int) -> tuple[list[int], int]:
        """The best items, and how many match; all words must be found, or where no item has all, as many as can be."""
        wanted = pl.Series([query.lower()]).str.extract_all(_WORD)[0].to_list()[:16]
        n_items = len(self.lengths)
        if not wanted:
            return np.argsort(-self.counts, kind="stable")[:limit].tolist(), n_items
        scores, matched = np.zeros(n_items), np.zeros(n_items, np.int64)
        for place, word in enumerate(wanted):
            worth = self._worth(word, unfinished=place == len(wanted) - 1)
            scores += worth
            matched += worth > 0
        most = int(matched.max(initial=0))
        items = np.flatnonzero((matched == most) & (matched > 0))
        order = np.lexsort((items, -self.counts[items], self.lengths[items], -scores[items]))
        return items[order[:limit]].tolist(), len(items)

    def _worth(self, word: str, *, unfinished: bool) -> NDArray[np.float64]:
        """(n_items,): what this word of the query says for each item."""
        n_items, first = len(self.lengths), bisect_left(self.words, word)
        last = bisect_left(self.words, word + "\U0010ffff") if unfinished else first
        worth = np.zeros(n_items)
        worth[self.items[self.starts[first] : self.starts[last]]] = _UNFINISHED
        if first < len(self.words) and self.words[first] == word:
            worth[self.items[self.starts[first] : self.starts[first + 1]]] = 1.0
        rarity = log1p(n_items / max(int(np.count_nonzero(worth)), 1))
        return worth * rarity
