"""What LLaDA-Rec trains on: (history, next item) pairs, as positions in one flat array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from sidrec.data.histories import Histories


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
