"""Generating under a condition: only items that agree with a given one in chosen slots."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.data.catalog import Catalog
from sidrec.models.attributes import texts_of


@dataclass(frozen=True)
class Condition:
    """Items like `item` in some slots of its codes (counted from 0) and some columns of the catalogue."""

    item: int
    slots: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()

    @classmethod
    def parse(cls, catalog: Catalog, like: str | None, keep: Sequence[int | str], n_slots: int) -> Condition:
        """`keep` are code slots counted from 1, as `--explain` shows them, and names of columns such as brand."""
        if like is None:
            raise InputError("like and keep belong together: which item, and what of it to keep.")
        if isinstance(keep, str) or not all(isinstance(part, str | numbers.Integral) for part in keep):
            raise InputError(f"keep is a list of code slots and columns, such as [1, 'brand'], not {keep!r}.")
        item = int(catalog.index_of([like])[0])
        if item < 0:
            raise InputError(f"like: item {like!r} is not in the catalogue.")
        slots = tuple(int(part) - 1 for part in keep if not isinstance(part, str))
        columns = tuple(part for part in keep if isinstance(part, str))
        if not keep or any(slot not in range(n_slots) for slot in slots):
            raise InputError(f"keep: name code slots from 1 to {n_slots}, or columns of the catalogue, at least one.")
        unknown = [name for name in columns if name not in catalog.frame.columns]
        if unknown:
            have = ", ".join(catalog.frame.columns)
            raise InputError(f"keep: the catalogue has no column {unknown[0]}; it has: {have}.")
        empty = [name for name in columns if texts_of(catalog.frame[name][item : item + 1]) == [""]]
        if empty:
            raise InputError(f"keep: item {like!r} has no {empty[0]} that others could share.")
        return cls(item, slots, columns)

    def agreeing(self, catalog: Catalog, codes: NDArray[np.int32] | None) -> NDArray[np.bool_]:
        """(n_items,): who meets the condition."""
        found = np.ones(len(catalog), dtype=bool)
        if self.slots and codes is not None:
            wanted = list(self.slots)
            found &= (codes[: len(catalog), wanted] == codes[self.item, wanted]).all(1)
        for name in self.columns:
            column = catalog.frame[name]
            found &= column.eq_missing(column.gather([self.item] * len(column))).to_numpy()
        return found
