"""Bit tables that answer, for a few filled slots, which codes of another slot occur with them."""

from __future__ import annotations

from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.decoding.slot_sets import number_of, sets_of_size


class CodeTables:
    """One row of bits per (filled slots, their codes, asked slot); every depth whose rows fit in `max_bytes` has them.

    The size depends on M and K only: 25 MB for M = 4 and K = 256 up to two filled slots, whatever the catalogue.
    """

    def __init__(self, ids: NDArray[np.int32], sizes: tuple[int, ...], max_bytes: int) -> None:
        self.n_words = -(-max(sizes) // 8)
        self.width = max(sizes)
        n_codes = len(sizes)
        self.n_depths = _depths_that_fit(sizes, self.n_words, max_bytes)
        start = np.zeros((1 << n_codes, n_codes), dtype=np.int64)
        stride = np.zeros((1 << n_codes, n_codes), dtype=np.int64)
        total = 0
        for depth in range(self.n_depths):
            for slots in sets_of_size(n_codes, depth):
                number = number_of(slots)
                for place, slot in enumerate(slots):
                    stride[number, slot] = prod(sizes[later] for later in slots[place + 1 :])
                for asked in sorted(set(range(n_codes)) - set(slots)):
                    start[number, asked] = total
                    total += prod(sizes[slot] for slot in slots)
        bits = np.zeros(total * self.n_words, dtype=np.uint8)
        for depth in range(self.n_depths):
            for slots in sets_of_size(n_codes, depth):
                number = number_of(slots)
                rows = row_numbers(ids, stride[number], slots)
                for asked in sorted(set(range(n_codes)) - set(slots)):
                    _set_bits(bits, (rows + start[number, asked]) * self.n_words, ids[:, asked])
        self._bits = torch.from_numpy(bits).view(total, self.n_words)
        self._start = torch.from_numpy(start)
        self._stride = torch.from_numpy(stride)
        self._unpacked = torch.from_numpy(_unpacked_bytes())

    @property
    def n_bytes(self) -> int:
        return self._bits.numel()

    def valid(self, codes: Tensor, sets: Tensor, slots: Tensor) -> Tensor:
        """Codes (rows, M), their filled sets (rows,) and asked slots (rows, s) -> bool (rows, s, K)."""
        within = (codes.clamp(min=0) * self._stride[sets]).sum(-1)
        rows = self._start[sets.unsqueeze(-1), slots] + within.unsqueeze(-1)  # (rows, s)
        words = self._bits.index_select(0, rows.view(-1)).view(-1).int()
        flags = self._unpacked.index_select(0, words).view(torch.bool)
        return flags.view(*slots.shape, self.n_words * 8)[..., : self.width]


def row_numbers(ids: NDArray[np.int32], stride: NDArray[np.int64], slots: tuple[int, ...]) -> NDArray[np.int64]:
    """Mixed-radix number of the codes in `slots`."""
    rows = np.zeros(len(ids), dtype=np.int64)
    for slot in slots:
        rows += ids[:, slot] * stride[slot]
    return rows


def _depths_that_fit(sizes: tuple[int, ...], n_words: int, max_bytes: int) -> int:
    """Depth 0 always has a table: it is one row per slot."""
    for depth in range(1, len(sizes)):
        rows = sum(prod(sizes[slot] for slot in slots) for slots in sets_of_size(len(sizes), depth))
        if rows * (len(sizes) - depth) * n_words > max_bytes:
            return depth
    return len(sizes)


def _set_bits(bits: NDArray[np.uint8], rows: NDArray[np.int64], codes: NDArray[np.int32]) -> None:
    """One pass per bit of a byte: repeated places then all write the same value, which plain `|=` does correctly."""
    words = rows + (codes >> 3)
    for bit in range(8):
        bits[words[codes & 7 == bit]] |= np.uint8(1 << bit)


def _unpacked_bytes() -> NDArray[np.int64]:
    """The eight flags of every byte as one int64, so that unpacking is a look-up of whole words."""
    flags = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return np.ascontiguousarray(flags).view(np.int64)[:, 0]
