"""Which items agree with a target in some slots: the catalogue's groups for every set of visible slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class _Groups:
    """For one set of slots: items in order of their group, and for each item where its group is."""

    order: Tensor  # (n_items,)
    first: Tensor  # (n_items,)
    size: Tensor  # (n_items,)
    place: Tensor  # (n_items,): the item's own place in `order`


class Agreement:
    """Groups are made when first asked for; `limit` bounds how many items stand against a target."""

    def __init__(self, codes: NDArray[np.integer], limit: int = 256) -> None:
        self.codes, self.limit = codes, limit
        self._known: dict[int, _Groups] = {}

    def candidates(
        self, visible: Tensor, targets: Tensor, luck: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """visible (places, n_slots), targets (places,) to flat (place, item) pairs; forced answers have none.

        A group beyond the limit is cut to the target and a random stretch of the others.
        """
        sets = (visible.long() << torch.arange(visible.shape[1])).sum(1)
        pairs = [self._pairs(int(number), sets, targets, luck) for number in torch.unique(sets)]
        rows, items = zip(*pairs, strict=True) if pairs else ((), ())
        empty = torch.empty(0, dtype=torch.int64)
        return torch.cat([empty, *rows]), torch.cat([empty, *items])

    def _pairs(self, number: int, sets: Tensor, targets: Tensor, luck: torch.Generator | None) -> tuple[Tensor, Tensor]:
        groups = self._groups(number)
        rows = (sets == number).nonzero()[:, 0]
        rows = rows[groups.size[targets[rows]] > 1]
        own = targets[rows]
        sizes, first = groups.size[own], groups.first[own]
        taken = sizes.clamp_max(self.limit)
        # the target, then its neighbours in the ring of the group from a random place on
        jump = (torch.rand(len(rows), generator=luck) * (sizes - taken + 1)).long()
        each = taken.repeat_interleave(taken)
        step = torch.arange(len(each)) - (taken.cumsum(0) - taken).repeat_interleave(taken)
        step = torch.where(step > 0, step + jump.repeat_interleave(taken), 0)
        ring = (groups.place[own] - first).repeat_interleave(taken) + step
        at = first.repeat_interleave(taken) + ring % sizes.repeat_interleave(taken)
        return rows.repeat_interleave(taken), groups.order[at]

    def _groups(self, number: int) -> _Groups:
        if number not in self._known:
            slots = [slot for slot in range(self.codes.shape[1]) if number >> slot & 1]
            _, group = np.unique(self.codes[:, slots], axis=0, return_inverse=True)
            group = group.reshape(-1)
            sizes = np.bincount(group)
            first = np.cumsum(sizes) - sizes
            order = np.argsort(group, kind="stable")
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            arrays = (order, first[group], sizes[group], place)
            self._known[number] = _Groups(*(torch.from_numpy(np.ascontiguousarray(array)) for array in arrays))
        return self._known[number]
