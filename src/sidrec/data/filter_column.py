"""A catalogue column made ready for filtering: numbers that are quick to compare, and how words become such numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.data.column_test import Comparison, Value
from sidrec.data.filter_values import microseconds_of, number_of, truth_of
from sidrec.data.near_words import NearWords

Mask = NDArray[np.bool_]
_COMPARED = 4
"""Up to so many words one comparison each is faster than a look into a table."""
_COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


class FilterColumn(Protocol):
    """Masks over the items. Whatever cannot be meant for the column's kind is an `InputError`."""

    def one_of(self, values: Sequence[Value]) -> tuple[Mask, list[Value]]:
        """Where it equals one of them, and those that no item has."""

    def within(self, bounds: Sequence[tuple[Comparison, Value]]) -> Mask:
        """Where it meets all of them."""


@dataclass(frozen=True)
class Numbers:
    """Numbers, times (microseconds) or truth values; `kind` says how values are read."""

    name: str
    kind: str
    keys: NDArray[Any]
    missing: Mask

    def one_of(self, values: Sequence[Value]) -> tuple[Mask, list[Value]]:
        hits = [self.missing if value is None else self._real(self.keys == self._key(value)) for value in values]
        lost = [value for value, hit in zip(values, hits, strict=True) if not hit.any()]
        return any_of(hits) if hits else np.zeros(len(self.keys), bool), lost

    def within(self, bounds: Sequence[tuple[Comparison, Value]]) -> Mask:
        if self.kind == "truth":
            raise InputError(f"column {self.name} holds true and false, which have no order; use {self.name}=true.")
        wanted = [_COMPARE[sign](self.keys, self._key(value)) for sign, value in bounds]
        return self._real(all_of(wanted))

    @cached_property
    def _given(self) -> Mask | None:
        """None where nothing is missing, so that nobody has to look."""
        return ~self.missing if self.missing.any() else None

    def _real(self, found: Mask) -> Mask:
        """Without the missing; `found` is ours to change."""
        return found if self._given is None else np.logical_and(found, self._given, out=found)

    def _key(self, value: Value) -> float | int:
        key = {"number": number_of, "time": microseconds_of, "truth": truth_of}[self.kind](value)
        if key is None:
            what = {"number": "numbers", "time": "times such as 2024-05-01", "truth": "true and false"}[self.kind]
            written = {"number": "<20", "time": "<2024-05-01", "truth": "=true"}[self.kind]
            raise InputError(f"column {self.name} holds {what}, and {value!r} is none; write {self.name}{written}.")
        return key


@dataclass(frozen=True)
class Texts:
    """Words by number: `codes` are -1 where there is none."""

    name: str
    codes: NDArray[np.signedinteger[Any]]
    words: list[str]

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return {word: code for code, word in enumerate(self.words)}

    @cached_property
    def near(self) -> NearWords:
        """Words that were perhaps meant, for values that no item has."""
        return NearWords(self.words)

    @cached_property
    def _truths(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {"true": [], "false": []}
        for code, word in enumerate(self.words):
            found.get(word.lower(), []).append(code)
        return found

    @cached_property
    def _ordered(self) -> Numbers:
        """Text in which every word is a number or a time can be compared; of others no order is guessed."""
        for kind, read in (("number", number_of), ("time", microseconds_of)):
            keys = [read(word) for word in self.words]
            if None not in keys:
                table = np.array([*keys, 0], np.float64 if kind == "number" else np.int64)
                return Numbers(self.name, kind, table[self.codes], self.codes < 0)
        wrong = next(word for word in self.words if number_of(word) is None)
        raise InputError(f"column {self.name} is text such as {wrong!r}, so it has no ranges; name values instead.")

    def one_of(self, values: Sequence[Value]) -> tuple[Mask, list[Value]]:
        codes = [self._codes_of(value) for value in values]
        lost = [value for value, each in zip(values, codes, strict=True) if not each or not self._has(value)]
        return self._carrying([code for each in codes for code in each]), lost

    def _carrying(self, codes: list[int]) -> Mask:
        if not codes:
            return np.zeros(len(self.codes), bool)
        if len(codes) <= _COMPARED:
            return any_of([self.codes == code for code in codes])
        wanted = np.zeros(len(self.words) + 1, bool)  # the last one is for no word: -1 leads to it
        wanted[codes] = True
        return np.asarray(wanted[self.codes])

    def _codes_of(self, value: Value) -> list[int]:
        if isinstance(value, bool):
            return self._truths[str(value).lower()]
        code = -1 if value is None else self._code_of.get(value.isoformat() if isinstance(value, date) else str(value))
        return [] if code is None else [code]

    def _has(self, value: Value) -> bool:
        return value is not None or bool((self.codes < 0).any())

    def within(self, bounds: Sequence[tuple[Comparison, Value]]) -> Mask:
        return self._ordered.within(bounds)


@dataclass(frozen=True)
class Lists:
    """A list per item: it matches where one of its elements does, and a missing value where it has none.

    Words are elements once each: `owners` of word w stand between `starts[w]` and `starts[w + 1]`.
    """

    elements: FilterColumn
    owners: NDArray[np.int64]
    n_items: int
    starts: NDArray[np.int64] | None = None

    def one_of(self, values: Sequence[Value]) -> tuple[Mask, list[Value]]:
        hits, lost = self.elements.one_of([value for value in values if value is not None])
        found = self._any(hits)
        if None in values:
            empty = np.ones(self.n_items, bool)
            empty[self.owners] = False
            found, lost = found | empty, lost if empty.any() else [*lost, None]
        return found, lost

    def within(self, bounds: Sequence[tuple[Comparison, Value]]) -> Mask:
        return self._any(self.elements.within(bounds))

    def _any(self, hit: Mask) -> Mask:
        found = np.zeros(self.n_items, bool)
        elements = np.flatnonzero(hit)
        if self.starts is None:
            found[self.owners[elements]] = True
            return found
        for word in elements:
            found[self.owners[self.starts[word] : self.starts[word + 1]]] = True
        return found


def any_of(masks: Sequence[Mask]) -> Mask:
    """True where one of them is; two at a time, because numpy would first copy several into one table."""
    return _joined(np.logical_or, masks)


def all_of(masks: Sequence[Mask]) -> Mask:
    """True where every one of them is; a single one is given back as it is."""
    return _joined(np.logical_and, masks)


def _joined(join: np.ufunc, masks: Sequence[Mask]) -> Mask:
    if len(masks) == 1:
        return masks[0]
    found = np.asarray(join(masks[0], masks[1]))
    for mask in masks[2:]:
        join(found, mask, out=found)
    return found


def filter_column(column: pl.Series) -> FilterColumn:
    """By the kind of its values; kinds that no filter speaks of are refused."""
    kind = column.dtype
    if isinstance(kind, pl.List | pl.Array):
        return _lists(column.arr.to_list() if isinstance(kind, pl.Array) else column)
    missing = column.is_null().to_numpy()
    if kind == pl.Boolean:
        return Numbers(column.name, "truth", column.fill_null(False).to_numpy().astype(np.int8), missing)
    if kind.is_numeric():
        keys = (column.cast(pl.Float64) if kind.is_decimal() else column).fill_null(0).to_numpy()
        return Numbers(column.name, "number", keys, missing | np.isnan(keys))
    if isinstance(kind, pl.Date | pl.Datetime):
        times = column.cast(pl.Datetime("us")) if isinstance(kind, pl.Date) else column.dt.cast_time_unit("us")
        return Numbers(column.name, "time", times.to_physical().fill_null(0).to_numpy(), missing)
    if kind == pl.Null or isinstance(kind, pl.String | pl.Categorical | pl.Enum):
        return _texts(column.cast(pl.String))
    raise InputError(f"column {column.name} holds {kind}, which no filter can compare; choose another column.")


def _texts(column: pl.Series) -> Texts:
    words = column.drop_nulls().unique(maintain_order=True)
    codes = column.cast(pl.Enum(words)).to_physical().cast(pl.Int32).fill_null(-1)
    narrow = np.min_scalar_type(-len(words) - 1)  # comparing is reading: half the bytes, half the time
    return Texts(column.name, codes.to_numpy().astype(narrow), words.to_list())


def _lists(column: pl.Series) -> Lists:
    lengths = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    elements, owners = column.filter(pl.Series(lengths > 0)).explode(), np.repeat(np.arange(len(column)), lengths)
    real = elements.is_not_null()
    found, owners = filter_column(elements.filter(real)), owners[real.to_numpy()]
    if not isinstance(found, Texts):
        return Lists(found, owners, len(column))
    counts = np.bincount(found.codes, minlength=len(found.words))
    words = Texts(found.name, np.arange(len(found.words), dtype=np.int32), found.words)
    return Lists(words, owners[np.argsort(found.codes, kind="stable")], len(column), np.append(0, counts.cumsum()))
