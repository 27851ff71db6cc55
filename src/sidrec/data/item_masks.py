"""Filters as masks over a catalogue: columns are made ready once, masks are kept between requests."""

from __future__ import annotations

import difflib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.core.plain_text import short
from sidrec.data.column_test import ColumnTest
from sidrec.data.filter_column import FilterColumn, Lists, Mask, Texts, all_of, filter_column
from sidrec.data.item_filter import FilterLike, ItemFilter
from sidrec.data.schema import ITEM_ID

KEPT_BYTES = 64 << 20
"""Masks of one catalogue that are kept, at one byte per item."""
_REPEATED = 4
"""How often a word stands in a column, in the mean, that filters probably name: brands do, titles do not."""


@dataclass(frozen=True)
class Filtered:
    """The items that are left, None for all, and what the caller should know about the filter."""

    mask: Mask | None = None
    notes: tuple[str, ...] = ()


class ItemMasks:
    """Safe to ask from several threads; the masks are shared and cannot be written."""

    def __init__(self, frame: pl.DataFrame, index_of: Callable[[Sequence[str]], NDArray[np.int32]]) -> None:
        self._frame, self._index_of = frame, index_of
        self._columns: dict[str, FilterColumn] = {}
        self._kept: OrderedDict[tuple[object, ...], Filtered] = OrderedDict()
        self._lock = Lock()

    def prepare(self) -> None:
        """Make columns ready before anybody waits for them; words that hardly repeat are left until they are named."""
        for column in self._frame:
            if _repeats(column):
                with suppress(InputError):  # of a kind that no filter compares
                    self._column(column.name)

    def allowed(self, allow: FilterLike | None, deny: FilterLike | None) -> Filtered:
        """What meets all of `allow` and nothing of `deny`."""
        wanted = None if allow is None else ItemFilter.of(allow, "allow")
        denied = () if deny is None else ItemFilter.each(deny, "deny")
        parts = [*([] if wanted is None else [self._meets(wanted)]), *(self._avoids(each) for each in denied)]
        if not parts:
            return Filtered()
        notes = tuple(note for part in parts for note in part.notes)
        return Filtered(_all([part.mask for part in parts], self._frame.height), notes)

    def _meets(self, wanted: ItemFilter) -> Filtered:
        found = [self._test(test) for test in wanted.tests]
        notes = tuple(note for each in found for note in each.notes)
        return Filtered(_all([each.mask for each in found], self._frame.height), notes)

    def _avoids(self, denied: ItemFilter) -> Filtered:
        found = self._meets(denied)
        return Filtered(None if found.mask is None else ~found.mask, found.notes)

    def _test(self, test: ColumnTest) -> Filtered:
        with self._lock:
            if test.key in self._kept:
                self._kept.move_to_end(test.key)
                return self._kept[test.key]
        made = self._ids(test) if test.column == ITEM_ID and not test.bounds else self._made(test)
        if made.mask is not None:
            made.mask.flags.writeable = False
        with self._lock:
            self._kept[test.key] = made
            while len(self._kept) > max(2, KEPT_BYTES // max(1, self._frame.height)):
                self._kept.popitem(last=False)
        return made

    def _made(self, test: ColumnTest) -> Filtered:
        column = self._column(test.column)
        if test.bounds:
            mask = column.within(test.bounds)
            notes = [] if mask.any() else [f"no item has {ColumnTest(test.column, bounds=test.bounds)}."]
        else:
            mask, values = column.one_of(test.values)
            notes = [f"no item has {ColumnTest(test.column, (value,))}{_near(column, value)}" for value in values]
        return Filtered(~mask if test.negated else mask, tuple(notes))

    def _ids(self, test: ColumnTest) -> Filtered:
        """Lists of ids may be long, and every id is its own item."""
        items = self._index_of([str(value) for value in test.values])
        mask = np.full(self._frame.height, test.negated)
        mask[items[items >= 0]] = not test.negated
        unknown = np.flatnonzero(items < 0)
        if not len(unknown):
            return Filtered(mask)
        first = short(str(test.values[int(unknown[0])]))
        words = (
            f"{len(unknown):,} of the {len(items):,} item ids of a filter are not in the catalogue, such as {first}."
        )
        return Filtered(mask, (words,))

    def _column(self, name: str) -> FilterColumn:
        if name not in self._columns:
            names = self._frame.columns
            if name not in names:
                near = difflib.get_close_matches(name, names, n=1)
                hint = f"; did you mean {near[0]}?" if near else f"; it has: {', '.join(names)}."
                raise InputError(f"the catalogue has no column {name}{hint}")
            self._columns[name] = filter_column(self._frame[name])
        return self._columns[name]


def _repeats(column: pl.Series) -> bool:
    flat = column.explode() if isinstance(column.dtype, pl.List | pl.Array) else column
    if flat.dtype != pl.String:
        return True
    counted = flat.to_frame().select(pl.all().approx_n_unique()).item()
    return bool(counted * _REPEATED <= len(flat))


def _all(masks: Sequence[Mask | None], n_items: int) -> Mask:
    real = [mask for mask in masks if mask is not None]
    return all_of(real) if real else np.ones(n_items, bool)


def _near(column: FilterColumn, value: object) -> str:
    words = column.elements if isinstance(column, Lists) else column
    if not isinstance(words, Texts):
        return "."
    near = words.near.to(str(value))
    return "." if near is None else f"; did you mean {near}?"
