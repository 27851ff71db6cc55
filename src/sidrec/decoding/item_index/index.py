"""Which codes can still become an item, whatever slots are filled: the any-order item index."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.core.errors import InputError
from sidrec.decoding.host import may_look, moved
from sidrec.decoding.item_index.code_tables import CodeTables
from sidrec.decoding.item_index.slot_sets import filled_sets
from sidrec.decoding.item_index.sorted_ids import KEY_LIMIT, SortedIds, sort_ids

TABLE_BYTES = 64 << 20
MAX_SLOTS = 12
CELLS_AT_ONCE = 4_000_000


class ItemIndex:
    """The catalogue's IDs: whole ones of any length, and, where somebody asks, by any filled slots.

    Few filled slots are answered from bit tables, more from sorted keys, where hardly any ID is left to look at. The
    cost of a question does not depend on the size of the catalogue but for a binary search. Tables and sorted keys are
    built by the first question about filled slots, once; scoring whole IDs never needs them.
    """

    def __init__(
        self,
        codes: NDArray[np.integer],
        codebook_sizes: Sequence[int],
        items: NDArray[np.integer] | None = None,
        *,
        table_bytes: int = TABLE_BYTES,
    ) -> None:
        """Codes (n, M) of the `items` (all, if not given); items may share an ID."""
        sizes = tuple(int(size) for size in codebook_sizes)
        _refuse_bad_codes(codes, sizes)
        self.sizes, self.width = sizes, max(sizes)
        numbers = np.arange(len(codes)) if items is None else np.asarray(items)
        keys = whole_keys(codes, sizes)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.append(np.ones(min(len(keys), 1), bool), keys[1:] != keys[:-1]))
        self._keys = keys[first]
        self.ids = np.ascontiguousarray(codes[order[first]], dtype=np.int32)  # (n_ids, M), lexicographic
        self.offsets = np.append(first, len(codes)).astype(np.int64)
        self.items = numbers[order].astype(np.int32)
        """The items of ID i are items[offsets[i] : offsets[i + 1]], ascending."""
        self._table_bytes, self._building = table_bytes, Lock()
        self._any_order: tuple[CodeTables, SortedIds] | None = None
        self._on_devices: dict[torch.device, tuple[CodeTables, SortedIds, Tensor]] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_bytes(self) -> int:
        own = self.ids.nbytes + self.offsets.nbytes + self.items.nbytes + self._keys.nbytes
        return own if self._any_order is None else own + self.tables.n_bytes + self.sorted.n_bytes

    @property
    def is_built(self) -> bool:
        """Whether somebody has asked about filled slots yet."""
        return self._any_order is not None

    @property
    def tables(self) -> CodeTables:
        return self._built()[0]

    @property
    def sorted(self) -> SortedIds:
        return self._built()[1]

    def _built(self) -> tuple[CodeTables, SortedIds]:
        if self._any_order is None:
            if len(self.sizes) > MAX_SLOTS:
                raise InputError(
                    f"the any-order item index takes at most {MAX_SLOTS} codes per item, not {len(self.sizes)}; "
                    "use the search method score-all, which takes any number."
                )
            with self._building:
                if self._any_order is None:
                    tables = CodeTables(self.ids, self.sizes, self._table_bytes)
                    self._any_order = tables, sort_ids(self.ids, self.sizes)
        return self._any_order

    def on(self, device: torch.device) -> tuple[CodeTables, SortedIds, Tensor]:
        """Tables, sorted IDs and the codebooks' sizes there; copied once, then kept."""
        found = self._on_devices.get(device)
        if found is None:
            (tables, ids), sizes = self._built(), torch.tensor(self.sizes, device=device)
            found = (tables, ids, sizes) if device.type == "cpu" else (moved(tables, device), moved(ids, device), sizes)
            self._on_devices[device] = found
        return found

    def valid(self, codes: Tensor, slots: Tensor, n_filled: int | None = None) -> Tensor:
        flat, asked = codes.reshape(-1, len(self.sizes)), slots.reshape(-1, slots.shape[-1])
        sets, (tables, _, _) = filled_sets(flat), self.on(codes.device)
        n_filled = int((flat[:1] >= 0).sum()) if n_filled is None else n_filled
        if n_filled < tables.n_depths:
            found = tables.valid(flat, sets, asked)
        elif may_look(codes.device):
            found = self._valid_from_ranges(flat, sets, asked)
        else:
            found = self._valid_from_children(flat, sets, asked)
        return found.view(*slots.shape, self.width)

    def _valid_from_ranges(self, codes: Tensor, sets: Tensor, slots: Tensor) -> Tensor:
        """Reads the few IDs that are left; how many they are must be looked at."""
        low, high = self.sorted.ranges(codes, sets)
        out = torch.zeros(*slots.shape, self.width, dtype=torch.bool)
        for rows, positions in spread(low, high, CELLS_AT_ONCE):
            found = self.sorted.code_at(positions.unsqueeze(1), slots[rows])  # (entries, s)
            out[rows.unsqueeze(1), torch.arange(slots.shape[1]), found] = True
        return out

    def _valid_from_children(self, codes: Tensor, sets: Tensor, slots: Tensor) -> Tensor:
        """Asks for every code whether any ID is left with it: more work, nothing to look at."""
        _, ids, sizes = self.on(codes.device)
        every = torch.arange(self.width, device=codes.device).expand(*slots.shape, -1).unsqueeze(-1)  # (rows, s, K, 1)
        at = slots.unsqueeze(-1).expand(*slots.shape, self.width)
        children = codes[:, None, None].expand(*at.shape, -1).scatter(3, at.unsqueeze(-1), every)
        child_sets = (sets[:, None] | (torch.ones_like(slots) << slots)).unsqueeze(-1).expand_as(at)
        low, high = ids.ranges(children.reshape(-1, len(self.sizes)), child_sets.reshape(-1))
        inside = every.squeeze(-1) < sizes[slots].unsqueeze(-1)
        return (high > low).view(at.shape) & inside

    def ranges(self, codes: Tensor) -> tuple[Tensor, Tensor]:
        """For beams (n, M) the half-open ranges of `sorted` positions whose IDs agree with the filled slots."""
        return self.on(codes.device)[1].ranges(codes, filled_sets(codes))

    def count(self, codes: Tensor) -> Tensor:
        low, high = self.ranges(codes.reshape(-1, len(self.sizes)))
        return (high - low).view(codes.shape[:-1])

    def find(self, codes: Tensor) -> Tensor:
        """The number of each whole ID (..., M), or -1 where the catalogue has none or a slot is masked."""
        flat = codes.reshape(-1, len(self.sizes)).numpy()
        inside: NDArray[np.bool_] = np.all((flat >= 0) & (flat < np.array(self.sizes)), axis=1)
        if len(self) == 0:
            return torch.full(codes.shape[:-1], -1)
        asked = whole_keys(np.where(inside[:, None], flat, 0), self.sizes)
        found = np.minimum(np.searchsorted(self._keys, asked), len(self) - 1)
        known = inside & (self._keys[found] == asked)
        return torch.from_numpy(np.where(known, found, -1)).view(codes.shape[:-1])

    def items_of(self, codes: Tensor) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The items of each whole ID (n, M): row i is items[offsets[i] : offsets[i + 1]], empty for an unknown ID."""
        numbers = self.find(codes).numpy()
        known = numbers >= 0
        low, high = self.offsets[numbers * known], self.offsets[numbers * known + known]
        offsets = np.zeros(len(numbers) + 1, dtype=np.int64)
        np.cumsum(high - low, out=offsets[1:])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], high - low)
        return self.items[np.repeat(low, high - low) + within], offsets

    def items_that_fit(self, codes: Tensor) -> NDArray[np.int32]:
        """Every item that agrees with one beam's (M,) filled slots, ascending; looks at the whole catalogue."""
        beam = codes.numpy()
        fits = ((beam < 0) | (self.ids == beam)).all(axis=1)
        return np.sort(self.items[np.repeat(fits, np.diff(self.offsets))])


def spread(low: Tensor, high: Tensor, limit: int) -> list[tuple[Tensor, Tensor]]:
    """Every (row, position) of the half-open ranges, in parts of about `limit` positions."""
    lengths = high - low
    ends = lengths.cumsum(0)
    if len(ends) == 0 or int(ends[-1]) <= limit:
        return [_spread(torch.arange(len(low)), low, lengths)]
    parts = []
    for part in range(int(ends[-1]) // limit + 1):
        rows = ((ends - 1).clamp(min=0) // limit == part).nonzero().squeeze(1)
        parts.append(_spread(rows, low[rows], lengths[rows]))
    return parts


def _spread(rows: Tensor, low: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    before = lengths.cumsum(0) - lengths
    positions = torch.repeat_interleave(low - before, lengths)
    return torch.repeat_interleave(rows, lengths), positions + torch.arange(len(positions))


def whole_keys(codes: NDArray[np.integer], sizes: tuple[int, ...]) -> NDArray[Any]:
    """One value per ID (n, M) that sorts as the codes do, slot after slot: a number, or bytes where too long."""
    if prod(sizes) < KEY_LIMIT:
        keys = np.zeros(len(codes), dtype=np.int64)
        for slot, size in enumerate(sizes):
            keys = keys * size + codes[:, slot]
        return keys
    width = next(width for width in (1, 2, 4) if max(sizes) <= 1 << 8 * width)
    digits = np.ascontiguousarray(codes.astype(f">u{width}"))
    return digits.view(f"S{width * len(sizes)}").reshape(len(codes))


def _refuse_bad_codes(codes: NDArray[np.integer], sizes: tuple[int, ...]) -> None:
    if codes.ndim != 2 or codes.shape[1] != len(sizes):
        raise InputError(f"the codes have shape {codes.shape}, but there are {len(sizes)} codebooks; tokenize again.")
    if len(codes) and ((codes.min(axis=0) < 0).any() or (codes.max(axis=0) >= np.array(sizes)).any()):
        raise InputError(f"some codes lie outside the codebooks of {sizes} codes; tokenize again.")
