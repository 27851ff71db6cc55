"""What models train on: stretches of user sequences in one flat array, and their two alignments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.core.errors import InputError
from sidrec.data.histories import Histories


@dataclass(frozen=True)
class Samples:
    """Sample s is `items[starts[s]:ends[s]]`: its last item is a target, all before it are history."""

    items: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def windows(cls, sequences: Histories, max_history: int) -> Samples:
        """Each user's items in stretches of at most `max_history` + 1, cut from the newest end, for models that learn
        from all positions in one pass.

        Neighbouring windows share one item, so that every item but a user's first is a target exactly once.
        """
        firsts, lasts = sequences.offsets[:-1], sequences.offsets[1:]
        counts = np.maximum(-(-(sequences.lengths - 1) // max_history), 0)  # windows per user
        user = np.repeat(np.arange(len(sequences)), counts)
        number = np.arange(len(user)) - np.repeat(np.cumsum(counts) - counts, counts)
        ends = lasts[user] - number * max_history
        return cls._checked(sequences.items, np.maximum(firsts[user], ends - max_history - 1), ends)

    @classmethod
    def every_prefix(cls, sequences: Histories, max_history: int) -> Samples:
        """One sample per (history, next item), for models whose whole pass belongs to one target."""
        counts = np.maximum(sequences.lengths - 1, 0)
        firsts = np.repeat(sequences.offsets[:-1], counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        ends = firsts + within + 2
        return cls._checked(sequences.items, np.maximum(firsts, ends - max_history - 1), ends)

    @classmethod
    def _checked(cls, items: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Samples:
        if len(ends) == 0:
            raise InputError(
                "no user has two training items, so there is nothing to learn from; give longer histories."
            )
        return cls(items, starts, ends)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.ends - self.starts

    @property
    def n_targets(self) -> NDArray[np.int64]:
        """How many items a window has after its first."""
        return self.lengths - 1

    def take(self, rows: NDArray[np.int64]) -> Histories:
        return Histories(self.items, np.zeros(1, np.int64)).slice_rows(self.starts[rows], self.ends[rows])


def left_aligned(histories: Histories) -> Tensor:
    """(rows, longest), oldest item in the first column, -1 on the right: what causal networks need no mask for."""
    lengths = histories.lengths
    out = np.full((len(histories), int(lengths.max())), -1, dtype=np.int64)
    out[np.arange(out.shape[1]) < lengths[:, None]] = histories.items
    return torch.from_numpy(out)


def right_aligned(histories: Histories, width: int | None = None) -> Tensor:
    """(rows, width), newest item in the last column, -1 on the left."""
    width = int(histories.lengths.max()) if width is None else width
    return torch.from_numpy(histories.padded(width).astype(np.int64))
