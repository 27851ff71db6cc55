"""The items a search may find: a catalogue's IDs, handed out as constraints that fit a request."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.data.histories import Histories
from sidrec.decoding.item_index.index import ItemIndex
from sidrec.decoding.user_constraint import UserConstraint

FEW = 64
"""Up to so many forbidden items are excluded one by one; more get an index of the allowed items."""


class ItemSearchSpace:
    """All items' codes; hands out constraints and keeps the indexes of the last few sets of allowed items."""

    def __init__(
        self, codes: NDArray[np.int32], codebook_sizes: Sequence[int], *, kept_indexes: int = 4, few: int = FEW
    ) -> None:
        self.codes, self.codebook_sizes, self.few = codes, tuple(codebook_sizes), few
        self.index = ItemIndex(codes, self.codebook_sizes)
        self._kept_indexes = kept_indexes
        self._lock = Lock()
        self._indexes: OrderedDict[bytes, ItemIndex] = OrderedDict()

    def constraint(
        self, histories: Histories, allowed: NDArray[np.bool_] | None = None, exclude_seen: bool = False
    ) -> UserConstraint:
        """For a batch of users: only `allowed` items (a mask; None allows all), and none of a user's own if asked."""
        index, denied = self.index, np.empty(0, dtype=np.int32)
        if allowed is not None:
            forbidden = np.flatnonzero(~allowed).astype(np.int32)
            if len(forbidden) <= self.few:
                denied = forbidden
            else:
                index = self._allowed_index(allowed)
        users, items = _blocked_pairs(histories, denied, exclude_seen)
        if allowed is not None and index is not self.index:
            users, items = users[allowed[items]], items[allowed[items]]
        if len(items) == 0:
            return UserConstraint(index)
        blocked = Histories(items, np.searchsorted(users, np.arange(len(histories) + 1)))
        return UserConstraint(index, self._excluded_ids(index, blocked), blocked)

    def _excluded_ids(self, index: ItemIndex, blocked: Histories) -> Tensor | None:
        """The IDs all of whose items are blocked for the user: (users, L, M), padded with -1."""
        numbers = index.find(torch.from_numpy(self.codes[blocked.items].astype(np.int64))).numpy()
        users, n_users = np.repeat(np.arange(len(blocked)), blocked.lengths), len(blocked)
        pairs, n_blocked = np.unique(users * len(index) + numbers, return_counts=True)
        ids_blocked = pairs % len(index)
        gone = pairs[n_blocked == index.offsets[ids_blocked + 1] - index.offsets[ids_blocked]]
        if len(gone) == 0:
            return None
        rows, ids = gone // len(index), index.ids[gone % len(index)]
        column = np.arange(len(rows)) - np.searchsorted(rows, rows)
        excluded = np.full((n_users, column.max() + 1, ids.shape[1]), -1, dtype=np.int64)
        excluded[rows, column] = ids
        return torch.from_numpy(excluded)

    def _allowed_index(self, allowed: NDArray[np.bool_]) -> ItemIndex:
        """The lock is never held while an index is made: requests with other filters go on meanwhile."""
        key = np.packbits(allowed).tobytes()
        with self._lock:
            known = self._indexes.get(key)
        if known is None:
            items = np.flatnonzero(allowed)
            known = ItemIndex(self.codes[items], self.codebook_sizes, items)
        with self._lock:
            self._indexes[key] = known
            self._indexes.move_to_end(key)
            if len(self._indexes) > self._kept_indexes:
                self._indexes.popitem(last=False)
        return known


def _blocked_pairs(
    histories: Histories, denied: NDArray[np.int32], exclude_seen: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Every distinct (user, item) that must not come back, by user."""
    n_users = len(histories)
    users = np.repeat(np.arange(n_users), len(denied))
    items = np.tile(denied, n_users)
    if exclude_seen:
        users = np.append(users, np.repeat(np.arange(n_users), histories.lengths))
        items = np.append(items, histories.items)
    pairs = np.unique(users << 32 | items)
    return pairs >> 32, (pairs & 0xFFFFFFFF).astype(np.int32)
