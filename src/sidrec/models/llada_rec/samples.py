"""What LLaDA-Rec trains on: (history, next item) pairs or whole windows, as positions in one flat array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from sidrec.data.histories import Histories

PAD = -1
"""The item that is none."""


@dataclass(frozen=True)
class Pairs:
    """Sample s: the items from `starts[s]` up to `targets[s]` are the history, the item at `targets[s]` comes next."""

    items: NDArray[np.int32]
    starts: NDArray[np.int64]
    targets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.targets - self.starts

    def take(self, rows: NDArray[np.int64]) -> Pairs:
        return Pairs(self.items, self.starts[rows], self.targets[rows])

    def histories(self) -> NDArray[np.int32]:
        """(samples, longest history), newest item last, PAD on the left."""
        width = int(self.lengths.max())
        at = self.targets[:, None] - np.arange(width, 0, -1)  # (samples, width)
        return np.where(at >= self.starts[:, None], self.items[np.maximum(at, 0)], PAD)


def every_prefix(sequences: Histories, max_history: int) -> Pairs:
    """Every item but each user's first is a target; its history is cut to the newest `max_history` items."""
    first = np.repeat(sequences.offsets[:-1], sequences.lengths)
    targets = np.flatnonzero(np.arange(len(sequences.items)) > first)
    return Pairs(sequences.items, np.maximum(first[targets], targets - max_history), targets)


def one_prefix(sequences: Histories, max_history: int, users: NDArray[np.int64], generator: torch.Generator) -> Pairs:
    """One random target of each given user; they all need at least two items."""
    first, lengths = sequences.offsets[:-1][users], sequences.lengths[users]
    drawn = torch.rand(len(users), generator=generator, dtype=torch.float64).numpy()
    targets = first + 1 + np.minimum((drawn * (lengths - 1)).astype(np.int64), lengths - 2)
    return Pairs(sequences.items, np.maximum(first, targets - max_history), targets)


@dataclass(frozen=True)
class Windows:
    """Window w is `items[starts[w]:ends[w]]`; all its items but the first are targets."""

    items: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def n_targets(self) -> NDArray[np.int64]:
        return self.ends - self.starts - 1

    def padded(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """(rows, longest window), oldest item first, PAD on the right."""
        starts, ends = self.starts[rows], self.ends[rows]
        at = starts[:, None] + np.arange(int((ends - starts).max()))
        return np.where(at < ends[:, None], self.items[np.minimum(at, len(self.items) - 1)], PAD)


def windows(sequences: Histories, max_history: int) -> Windows:
    """Each user's items in windows of at most `max_history` + 1, cut from the newest end.

    Neighbouring windows share one item, so that every item but a user's first is a target exactly once.
    """
    firsts, lasts = sequences.offsets[:-1], sequences.offsets[1:]
    counts = np.maximum(-(-(sequences.lengths - 1) // max_history), 0)  # windows per user
    user = np.repeat(np.arange(len(sequences)), counts)
    number = np.arange(len(user)) - np.repeat(np.cumsum(counts) - counts, counts)
    ends = lasts[user] - number * max_history
    return Windows(sequences.items, np.maximum(firsts[user], ends - max_history - 1), ends)
