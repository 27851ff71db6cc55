"""Bit tables that answer, for a few filled slots, which codes of another slot occur with them."""

from __future__ import annotations

from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.decoding.item_index.slot_sets import number_of, sets_of_size


class CodeTables:
    """One row of bits per (filled slots, their codes, asked slot); every depth whose rows fit in `max_bytes` has them.

    The size depends on M and K only: 25 MB for M = 4 and K = 256 up to two filled slots, whatever the catalogue.
    """

    def __init__(self, ids: NDArray[np.int32], sizes: tuple[int, ...], max_bytes: int) -> None:
        self.width, self.n_words = max(sizes), -(-max(sizes) // 8)
        self.n_depths = _depths_that_fit(sizes, self.n_words, max_bytes)
        start, stride, total = _layout(sizes, self.n_depths)
        bits = np.zeros((total, self.n_words), dtype=np.uint8)
        deepest = sets_of_size(len(sizes), self.n_depths - 1)
        _set_bits(bits.reshape(-1), np.ascontiguousarray(ids.T), deepest, start * self.n_words, stride * self.n_words)
        for depth in reversed(range(self.n_depths - 1)):
            for slots in sets_of_size(len(sizes), depth):
                _merge_deeper(bits, sizes, slots, start)
        self._bits = torch.from_numpy(bits)
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


def others(n_codes: int, slots: tuple[int, ...]) -> list[int]:
    return [slot for slot in range(n_codes) if slot not in slots]


def _layout(sizes: tuple[int, ...], n_depths: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Where the rows of (set, asked slot) start, how far apart the codes of a set's slots lie, and all rows."""
    start = np.zeros((1 << len(sizes), len(sizes)), dtype=np.int64)
    stride = np.zeros_like(start)
    total = 0
    for depth in range(n_depths):
        for slots in sets_of_size(len(sizes), depth):
            for position, slot in enumerate(slots):
                stride[number_of(slots), slot] = prod(sizes[later] for later in slots[position + 1 :])
            for asked in others(len(sizes), slots):
                start[number_of(slots), asked] = total
                total += prod(sizes[slot] for slot in slots)
    return start, stride, total


def _depths_that_fit(sizes: tuple[int, ...], n_words: int, max_bytes: int) -> int:
    """Depth 0 always has a table: it is one row per slot."""
    for depth in range(1, len(sizes)):
        rows = sum(prod(sizes[slot] for slot in slots) for slots in sets_of_size(len(sizes), depth))
        if rows * (len(sizes) - depth) * n_words > max_bytes:
            return depth
    return len(sizes)


def _set_bits(
    bits: NDArray[np.uint8],
    columns: NDArray[np.int32],
    sets: list[tuple[int, ...]],
    start: NDArray[np.int64],
    stride: NDArray[np.int64],
) -> None:
    """Mark every ID (columns: M, n) in the tables of the given sets; start and stride are in bytes.

    One pass per bit of a byte: repeated bytes then all write the same value, which plain `|=` does correctly.
    """
    for asked in range(len(columns)):
        for bit in range(8):
            chosen = columns[:, columns[asked] & 7 == bit]
            for slots in sets:
                if asked not in slots:
                    cells = start[number_of(slots), asked] + (chosen[asked] >> 3)
                    for slot in slots:
                        cells += chosen[slot] * stride[number_of(slots), slot]
                    bits[cells] |= np.uint8(1 << bit)


def _merge_deeper(
    bits: NDArray[np.uint8], sizes: tuple[int, ...], slots: tuple[int, ...], start: NDArray[np.int64]
) -> None:
    """A table is the union, over any further slot's codes, of the table with that slot filled too."""
    for asked in others(len(sizes), slots):
        further = others(len(sizes), (*slots, asked))[0]
        deeper = tuple(sorted((*slots, further)))
        shape = [sizes[slot] for slot in deeper]
        first = start[number_of(deeper), asked]
        rows = bits[first : first + prod(shape)].reshape(*shape, -1)
        merged = np.bitwise_or.reduce(rows, axis=deeper.index(further)).reshape(-1, bits.shape[1])
        first = start[number_of(slots), asked]
        bits[first : first + len(merged)] = merged


def _unpacked_bytes() -> NDArray[np.int64]:
    """The eight flags of every byte as one int64, so that unpacking is a look-up of whole words."""
    flags = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return np.ascontiguousarray(flags).view(np.int64)[:, 0]
