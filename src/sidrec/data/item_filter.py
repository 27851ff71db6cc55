"""THE filter language: the same value in Python, on the command line and in a service.

A filter is text (`"brand=Acme and price<20"`), a mapping (`{"brand": ["Acme", "Zoll"], "price": {"<": 20}}`) or a list
of item ids. Several columns mean and, several values of a column or.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, cast

import numpy as np

from sidrec.core.errors import InputError
from sidrec.data.column_test import ColumnTest, Comparison, Value
from sidrec.data.filter_text import parse_tests
from sidrec.data.readers.frames import is_frame
from sidrec.data.schema import ITEM_ID

_LOW, _HIGH = (">=", ">"), ("<=", "<")
_HOW = 'a filter is text such as "price<20", {column: value or values} or a list of item ids'


@dataclass(frozen=True)
class ItemFilter:
    """Items for which all `tests` hold."""

    tests: tuple[ColumnTest, ...]

    @classmethod
    def of(cls, wanted: FilterLike, name: str = "allow") -> ItemFilter:
        """What the caller wrote as one filter (of several all must hold); `name` is the argument it was given as."""
        return cls(tuple(test for each in _parts(wanted, name) for test in each.tests))

    @classmethod
    def each(cls, wanted: FilterLike, name: str = "deny") -> tuple[ItemFilter, ...]:
        """What denies by itself: every column of a mapping does, text denies what meets all of it."""
        return _parts(wanted, name)

    def __str__(self) -> str:
        return " and ".join(map(str, self.tests))


FilterLike = ItemFilter | str | Iterable[str] | Iterable[ItemFilter] | Mapping[str, Any]
"""What is taken as a filter."""


def united(filters: Sequence[ItemFilter]) -> list[ItemFilter]:
    """The same filters, where those that only name values of one column have become one with all these values."""
    found: dict[object, ItemFilter] = {}
    for number, each in enumerate(filters):
        test, *more = each.tests
        alone = not more and not test.bounds and not test.negated
        key = test.column if alone else number
        before = found[key].tests[0].values if key in found else ()
        found[key] = ItemFilter((replace(test, values=(*before, *test.values)),)) if alone else each
    return list(found.values())


def _parts(wanted: Any, name: str) -> tuple[ItemFilter, ...]:
    if isinstance(wanted, ItemFilter):
        return (wanted,)
    if isinstance(wanted, str):
        return (ItemFilter(parse_tests(wanted)),)
    if isinstance(wanted, Mapping):
        return tuple(ItemFilter(_tests(column, values, name)) for column, values in wanted.items())
    if isinstance(wanted, bytes) or not isinstance(wanted, Iterable) or is_frame(wanted):
        raise InputError(f"{name} is {type(wanted).__name__}; {_HOW}.")
    several = tuple(wanted)
    filters = tuple(each for each in several if isinstance(each, ItemFilter))
    if filters and len(filters) == len(several):
        return filters
    return (ItemFilter((ColumnTest(ITEM_ID, _item_ids(several, name)),)),)


def _item_ids(wanted: tuple[Any, ...], name: str) -> tuple[str, ...]:
    for each in wanted:
        if isinstance(each, bool) or not isinstance(each, str | int | np.integer):
            raise InputError(f"{name} has the item id {each!r}, which is no text; {_HOW}.")
    return tuple(str(each) for each in wanted)


def _tests(column: object, wanted: object, name: str) -> tuple[ColumnTest, ...]:
    """The demands on one column: a value, several, or {"<": 20, "not": "x"}."""
    if not isinstance(column, str):
        raise InputError(f"{name} has the column {column!r}; columns are named by text.")
    if not isinstance(wanted, Mapping):
        return (ColumnTest(column, _values(wanted, column, name)),)
    if not wanted or any(sign not in (*_LOW, *_HIGH, "not") for sign in wanted) or not _one_of_each(wanted):
        raise InputError(
            f"{name}: {column} takes a low bound (>=, >), a high bound (<=, <) and not inside braces, each once, "
            f"instead of {wanted!r}.",
        )
    signs = [sign for sign in (*_LOW, *_HIGH) if sign in wanted]
    bounds = tuple((cast(Comparison, sign), _value(wanted[sign], column, name)) for sign in signs)
    tests = [ColumnTest(column, bounds=bounds)] if bounds else []
    if "not" in wanted:
        tests.append(ColumnTest(column, _values(wanted["not"], column, name), negated=True))
    return tuple(tests)


def _one_of_each(wanted: Mapping[Any, Any]) -> bool:
    return all(sum(sign in wanted for sign in side) <= 1 for side in (_LOW, _HIGH))


def _values(wanted: object, column: str, name: str) -> tuple[Value, ...]:
    if isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes):
        return tuple(_value(each, column, name) for each in wanted)
    return (_value(wanted, column, name),)


def _value(value: Any, column: str, name: str) -> Value:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float | bool | date):
        return value
    words = (
        f"{name}: {column} is compared with text, numbers, times, true, false or nothing, not {type(value).__name__}"
    )
    raise InputError(f"{words}.")
