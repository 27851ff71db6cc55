"""The distinct IDs sorted in every order that matters: the IDs that agree with any filled slots are one range."""

from __future__ import annotations

from math import prod
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.decoding.item_index.slot_sets import covering_orders

KEY_LIMIT = 1 << 62


class SortedIds(Protocol):
    """Positions run over all orders, n_ids to each; order 0 is lexicographic, so its positions are ID numbers."""

    def ranges(self, codes: Tensor, sets: Tensor) -> tuple[Tensor, Tensor]:
        """The half-open range of positions whose IDs agree with each row's filled slots: codes (rows, M)."""

    def code_at(self, positions: Tensor, slots: Tensor) -> Tensor:
        """The code in a slot of the ID at a position; both broadcast."""

    @property
    def n_bytes(self) -> int: ...


def sort_ids(ids: NDArray[np.int32], sizes: tuple[int, ...]) -> SortedIds:
    """Whole IDs as int64 keys where M and K allow, otherwise sorted row numbers."""
    if len(covering_orders(len(sizes))[0]) * prod(sizes) < KEY_LIMIT:
        return SortedKeys(ids, sizes)
    return SortedRows(ids)


class SortedKeys:
    """Every order's mixed-radix keys in one ascending array; the order is the leading digit."""

    def __init__(self, ids: NDArray[np.int32], sizes: tuple[int, ...]) -> None:
        orders, order_of = covering_orders(len(sizes))
        total, n_ids = prod(sizes), len(ids)
        stride = np.zeros((len(orders), len(sizes)), dtype=np.int64)
        keys = np.empty((len(orders), n_ids), dtype=np.int64)
        columns = np.ascontiguousarray(ids.T)
        for number, order in enumerate(orders):
            keys[number] = number
            for position, slot in enumerate(order):
                stride[number, slot] = prod(sizes[later] for later in order[position + 1 :])
                keys[number] *= sizes[slot]
                keys[number] += columns[slot]
            keys[number].sort()
        span = [
            prod(size for slot, size in enumerate(sizes) if not number >> slot & 1) for number in range(1 << len(sizes))
        ]
        self._keys = torch.from_numpy(keys.reshape(-1))
        self._stride = torch.from_numpy(stride)
        self._set_stride = self._stride[torch.tensor(order_of)]
        self._set_first = torch.tensor(order_of) * total
        self._set_span = torch.tensor(span)
        self._sizes = torch.tensor(sizes)
        self._n_ids = n_ids

    @property
    def n_bytes(self) -> int:
        return self._keys.numel() * 8

    def ranges(self, codes: Tensor, sets: Tensor) -> tuple[Tensor, Tensor]:
        first = (codes.clamp(min=0) * self._set_stride[sets]).sum(-1) + self._set_first[sets]
        low, high = torch.searchsorted(self._keys, torch.stack([first, first + self._set_span[sets]])).unbind(0)
        return low, high

    def code_at(self, positions: Tensor, slots: Tensor) -> Tensor:
        stride = self._stride[positions // max(self._n_ids, 1), slots]
        return self._keys[positions] // stride % self._sizes[slots]


class SortedRows:
    """For IDs too long for one number: row numbers sorted in every order, searched by comparing slot after slot."""

    def __init__(self, ids: NDArray[np.int32]) -> None:
        orders, order_of = covering_orders(ids.shape[1])
        rows = [np.lexsort([ids[:, slot] for slot in reversed(order)]).astype(np.int32) for order in orders]
        self._ids = torch.from_numpy(ids)
        self._rows = torch.from_numpy(np.concatenate(rows))
        self._orders = torch.tensor(orders)
        self._order_of = torch.tensor(order_of)

    @property
    def n_bytes(self) -> int:
        return self._rows.numel() * 4 + self._ids.numel() * 4

    def ranges(self, codes: Tensor, sets: Tensor) -> tuple[Tensor, Tensor]:
        order = self._order_of[sets]
        wanted = codes.gather(1, self._orders[order])  # the filled slots come first, then -1
        return self._first(order, wanted, after=False), self._first(order, wanted, after=True)

    def code_at(self, positions: Tensor, slots: Tensor) -> Tensor:
        return self._ids[self._rows[positions].long(), slots].long()

    def _first(self, order: Tensor, wanted: Tensor, after: bool) -> Tensor:
        """The first position whose ID is not below `wanted` (with `after`: above it); bisects all rows at once."""
        n_ids = len(self._ids)
        low, high = order * n_ids, (order + 1) * n_ids
        for _ in range(n_ids.bit_length()):
            middle = (low + high) // 2
            row = self._rows[middle.clamp(max=len(self._rows) - 1)].long()
            found = self._ids[row].gather(1, self._orders[order])
            sign = torch.where(wanted >= 0, (found - wanted).sign(), 0)
            first = sign.gather(1, (sign != 0).int().argmax(1, keepdim=True)).squeeze(1)
            below = (first < 0) | ((first == 0) & after)
            open_ = low < high
            low = torch.where(open_ & below, middle + 1, low)
            high = torch.where(open_ & ~below, middle, high)
        return low
