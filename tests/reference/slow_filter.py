"""Filters item by item, as one would explain them: the twin of `data/item_masks.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any


def keeps(row: Mapping[str, Any], allow: Mapping[str, Any] | None, deny: Mapping[str, Any] | None) -> bool:
    """Every column of `allow` must hold, no column of `deny` may."""
    met = all(holds(row[column], wanted) for column, wanted in (allow or {}).items())
    return met and not any(holds(row[column], wanted) for column, wanted in (deny or {}).items())


def holds(cell: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        bounds = {sign: value for sign, value in wanted.items() if sign != "not"}
        inside = not bounds or any(_inside(each, bounds) for each in _elements(cell))
        return inside and not ("not" in wanted and holds(cell, wanted["not"]))
    values = wanted if isinstance(wanted, list) else [wanted]
    return any(_equals(cell, value) for value in values)


def _elements(cell: Any) -> list[Any]:
    found = cell if isinstance(cell, list) else [cell]
    return [each for each in found if each is not None and not (isinstance(each, float) and math.isnan(each))]


def _equals(cell: Any, value: Any) -> bool:
    if value is None:
        return not _elements(cell)
    return any(_same(each, value) for each in _elements(cell))


def _same(each: Any, value: Any) -> bool:
    if isinstance(each, bool):
        return str(value).lower() in (("true", "yes", "1") if each else ("false", "no", "0"))
    if isinstance(each, str):
        return each.lower() == str(value).lower() if isinstance(value, bool) else each == str(value)
    if isinstance(each, date):
        return _moment(each) == _moment(value)
    return each == float(value)


def _inside(each: Any, bounds: Mapping[str, Any]) -> bool:
    read = _moment if isinstance(each, date) else float
    tests = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
    return all(tests[sign](read(each), read(value)) for sign, value in bounds.items())


def _moment(value: Any) -> datetime:
    text = value if isinstance(value, str) else value.isoformat()
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
