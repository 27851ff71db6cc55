"""What one request may return: an index of the allowed items, less what each user must not get."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.data.histories import Histories
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

    def valid(self, codes: Tensor, slots: Tensor) -> Tensor:
        valid = self.index.valid(codes, slots)
        if self.excluded is None:
            return valid
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
