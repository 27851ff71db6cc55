"""One demand on one column of the catalogue, the atom of every filter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

Value = str | int | float | bool | date | None
"""What a column is compared with; text is read as the column's kind, None is a missing value."""
Comparison = Literal["<", "<=", ">", ">="]
FLIPPED: dict[Comparison, Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
LITERAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|\d{4}-\d\d-\d\d.*")
"""What is a value and no column, where a comparison begins with it."""
_BARE = re.compile(r'[^\s=<>!,"]+')
_KEYWORDS = ("and", "not", "null")


@dataclass(frozen=True)
class ColumnTest:
    """Holds for an item whose `column` equals one of `values` (a list column: contains one), or meets all `bounds`."""

    column: str
    values: tuple[Value, ...] = ()
    bounds: tuple[tuple[Comparison, Value], ...] = ()
    negated: bool = False

    def __str__(self) -> str:
        """As it is written on the command line."""
        no = "not " if self.negated else ""
        column = f'"{self.column}"' if LITERAL.fullmatch(self.column) else written(self.column)
        if not self.bounds:
            return f"{no}{column}={','.join(map(written, self.values))}"
        (sign, value), *more = self.bounds
        if not more:
            return f"{no}{column}{sign}{written(value)}"
        below, high = more[0]
        return f"{no}{written(value)}{FLIPPED[sign]}{column}{below}{written(high)}"

    @property
    def key(self) -> tuple[object, ...]:
        """Two tests with one key mean the same: 1, True and "1" are equal to Python, but not to a column of text."""
        named = (*self.values, *(value for _, value in self.bounds))
        return (self, tuple(type(value) for value in named))


def written(value: Value) -> str:
    """A value or a name as text that reads back as itself."""
    if value is None:
        return "null"
    text = value.isoformat() if isinstance(value, date) else str(value)
    bare = _BARE.fullmatch(text) is not None and text.lower() not in _KEYWORDS
    return text if bare else '"' + text.replace('"', '""') + '"'
