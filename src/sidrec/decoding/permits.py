"""Which items may be returned to which user, asked for a few items at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.data.histories import Histories


@dataclass(frozen=True)
class Permits:
    """A mask over all items, and what single users must not get."""

    allowed: Tensor  # (n_items,) bool
    seen: Tensor  # ascending user * n_items + item

    @classmethod
    def of(cls, n_items: int, histories: Histories, allowed: NDArray[np.bool_] | None, exclude_seen: bool) -> Permits:
        """Items beyond a shorter mask are not allowed."""
        mask = torch.zeros(n_items, dtype=torch.bool)
        mask[: n_items if allowed is None else len(allowed)] = True if allowed is None else torch.tensor(allowed)
        users = np.repeat(np.arange(len(histories)), histories.lengths)
        keys = np.unique(users * n_items + histories.items) if exclude_seen else np.empty(0, np.int64)
        return cls(mask, torch.from_numpy(keys.astype(np.int64)))

    def __call__(self, items: Tensor) -> Tensor:
        """bool of the shape of items (users, n); -1 is never permitted."""
        permitted: Tensor = self.allowed[items.clamp_min(0)] & (items >= 0)
        if len(self.seen):
            keys = items + len(self.allowed) * torch.arange(len(items)).unsqueeze(1)
            places = torch.searchsorted(self.seen, keys).clamp_max(len(self.seen) - 1)
            permitted = permitted & (self.seen[places] != keys)
        return permitted
