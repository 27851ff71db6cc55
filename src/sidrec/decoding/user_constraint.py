"""What one request may return: an index of the allowed items, less what each user must not get."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.data.histories import Histories
from sidrec.decoding.host import may_look
from sidrec.decoding.item_index.index import ItemIndex


@dataclass(frozen=True)
class UserConstraint:
    """An index, less each user's excluded IDs (users, L, M), padded with -1: exact, at any depth.

    A code is out when every ID it could still become is excluded. Only codes of excluded IDs that agree with the beam
    can be, so only those are counted.
    """

    index: ItemIndex
    excluded: Tensor | None = None
    blocked: Histories | None = None
    """The items behind `excluded`; an ID shared by several items stays while one of them is left."""

    def to(self, device: torch.device | None) -> UserConstraint:
        """The same for a search on that device."""
        return self if self.excluded is None else replace(self, excluded=self.excluded.to(device))

    def valid(self, codes: Tensor, slots: Tensor, n_filled: int | None = None) -> Tensor:
        valid = self.index.valid(codes, slots, n_filled)
        if self.excluded is None:
            return valid
        return (self._less_few if may_look(codes.device) else self._less_all)(valid, codes, slots)

    def _less_all(self, valid: Tensor, codes: Tensor, slots: Tensor) -> Tensor:
        """Counts for every excluded ID, also for those that no longer agree: nothing to look at."""
        assert self.excluded is not None
        agrees = self._agreeing(codes).unsqueeze(-1)  # (users, beams, L, 1)
        asked = slots.unsqueeze(2).expand(-1, -1, agrees.shape[2], -1)  # (users, beams, L, s)
        taken = self.excluded.clamp(min=0).unsqueeze(1).expand(-1, codes.shape[1], -1, -1).gather(3, asked)
        children = codes[:, :, None, None].expand(*asked.shape, -1).scatter(4, asked.unsqueeze(-1), taken.unsqueeze(-1))
        n_fitting = self.index.count(children.reshape(1, -1, codes.shape[-1])).view(asked.shape)
        by_slot = taken.transpose(2, 3)  # (users, beams, s, L)
        agreeing = agrees.transpose(2, 3).expand_as(by_slot)
        n_excluded = torch.zeros_like(valid, dtype=torch.long)
        n_excluded = n_excluded.scatter_add(3, by_slot, agreeing.long()).gather(3, by_slot)
        gone = agreeing & (n_excluded == n_fitting.transpose(2, 3))
        lost = torch.zeros_like(valid, dtype=torch.long).scatter_add(3, by_slot, gone.long())
        return valid & (lost == 0)

    def _less_few(self, valid: Tensor, codes: Tensor, slots: Tensor) -> Tensor:
        """Counts only for the excluded IDs that still agree with a beam; which they are must be looked at."""
        assert self.excluded is not None
        users, beams, columns = self._agreeing(codes).nonzero(as_tuple=True)
        if len(users) == 0:
            return valid
        beam_codes, asked = codes[users, beams], slots[users, beams]  # (pairs, M), (pairs, s)
        taken = self.excluded[users, columns].gather(1, asked)  # (pairs, s)
        children = beam_codes.unsqueeze(1).expand(-1, asked.shape[1], -1)
        children = children.scatter(2, asked.unsqueeze(2), taken.unsqueeze(2))  # (pairs, s, M)
        cell = (users * codes.shape[1] + beams).unsqueeze(1) * asked.shape[1] + torch.arange(asked.shape[1])
        cell = cell * valid.shape[-1] + taken
        cells, first, n_excluded = np.unique(cell.numpy(), return_index=True, return_counts=True)
        n_fitting = self.index.count(children.reshape(-1, codes.shape[-1])[torch.from_numpy(first)])
        flat = valid.reshape(-1)
        flat[torch.from_numpy(cells[n_excluded == n_fitting.numpy()])] = False
        return flat.view(valid.shape)

    def count(self, codes: Tensor) -> Tensor:
        fitting = self.index.count(codes)
        return fitting if self.excluded is None else fitting - self._agreeing(codes).sum(-1)

    def items_that_fit(self, codes: Tensor, user: int) -> NDArray[np.int32]:
        """The items one beam (M,) of a user can still become, ascending; looks at the whole catalogue."""
        items = self.index.items_that_fit(codes)
        return items if self.blocked is None else np.setdiff1d(items, self.blocked[user], assume_unique=True)

    def _agreeing(self, codes: Tensor) -> Tensor:
        """bool (users, beams, L): the excluded IDs a beam could still become."""
        assert self.excluded is not None
        excluded = self.excluded.unsqueeze(1)
        agrees = (excluded[..., 0] >= 0).expand(-1, codes.shape[1], -1)
        for slot in range(codes.shape[-1]):
            code = codes[:, :, slot].unsqueeze(-1)
            agrees = agrees & ((code < 0) | (code == excluded[..., slot]))
        return agrees
