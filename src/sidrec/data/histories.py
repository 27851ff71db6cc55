"""Ragged rows of item indices: many histories in one flat array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_HISTORY = 100_000
"""How many items of a history a model can be told to look at: it has weights for every place."""


@dataclass(frozen=True)
class Histories:
    """Row r is `items[offsets[r]:offsets[r + 1]]`, oldest first."""

    items: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def from_lists(cls, rows: Iterable[Sequence[int] | NDArray[np.int32]]) -> Histories:
        arrays = [np.asarray(row, dtype=np.int32) for row in rows]
        lengths = np.fromiter((len(row) for row in arrays), dtype=np.int64, count=len(arrays))
        items = np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int32)
        return cls(items, offsets_of(lengths))

    def __repr__(self) -> str:
        return f"Histories({len(self):,} rows, {len(self.items):,} items)"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[np.int32]:
        return self.items[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[row] for row in range(len(self)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def slice_rows(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Histories:
        """Rows cut to absolute positions [starts, ends) of the flat array."""
        lengths = np.maximum(ends - starts, 0)
        offsets = offsets_of(lengths)
        within = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], lengths)
        return Histories(self.items[np.repeat(starts, lengths) + within], offsets)

    def take(self, rows: NDArray[np.int64]) -> Histories:
        return self.slice_rows(self.offsets[:-1][rows], self.offsets[1:][rows])

    def last(self, count: int) -> Histories:
        """Each row cut to its newest `count` items."""
        ends = self.offsets[1:]
        return self.slice_rows(np.maximum(self.offsets[:-1], ends - count), ends)

    def padded(self, width: int, fill: int = -1) -> NDArray[np.int32]:
        """(rows, width), newest item in the last column, `fill` on the left; longer rows lose their oldest items."""
        out = np.full((len(self), width), fill, dtype=np.int32)
        cut = self.last(width)
        lengths = cut.lengths
        rows = np.repeat(np.arange(len(self)), lengths)
        within = np.arange(len(cut.items)) - np.repeat(cut.offsets[:-1], lengths)
        out[rows, width - np.repeat(lengths, lengths) + within] = cut.items
        return out


def offsets_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row starts, and the total at the end."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
