"""Catalogue columns as codes: brand, category and the like, one slot per column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.data.catalog import Catalog

UNKNOWN = -1


@dataclass(frozen=True)
class Attributes:
    """`values[column]` are the column's values in the order of their codes; a list column's value is its whole list."""

    values: dict[str, list[str]]

    @classmethod
    def of(cls, catalog: Catalog, columns: Sequence[str]) -> Attributes:
        """Every value that occurs gets a code of its own."""
        missing = [name for name in columns if name not in catalog.frame.columns]
        if missing:
            have = ", ".join(catalog.frame.columns)
            raise InputError(f"item_vectors.attributes: the catalogue has no column {missing[0]}; it has: {have}.")
        return cls({name: sorted(set(texts_of(catalog.frame[name])) - {""}) for name in columns})

    def grown(self, catalog: Catalog) -> Attributes:
        """Values keep their codes, those that are new get codes behind them."""
        found = {name: set(texts_of(catalog.frame[name])) for name in self.values if name in catalog.frame.columns}
        return Attributes(
            {name: [*old, *sorted(found.get(name, set()) - {"", *old})] for name, old in self.values.items()}
        )

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def sizes(self) -> tuple[int, ...]:
        """A column without a single value still has one code, which no item carries."""
        return tuple(max(1, len(values)) for values in self.values.values())

    def codes(self, catalog: Catalog) -> NDArray[np.int64]:
        """(items, columns); -1 where an item has no value, or one that was not there when the codes were made."""
        found = np.full((len(catalog), len(self.values)), UNKNOWN, dtype=np.int64)
        for slot, (name, values) in enumerate(self.values.items()):
            code_of = {value: code for code, value in enumerate(values)}
            if name in catalog.frame.columns:
                found[:, slot] = [code_of.get(text, UNKNOWN) for text in texts_of(catalog.frame[name])]
        return found


def texts_of(column: pl.Series) -> list[str]:
    """Values as text; empty where an item has none."""
    if isinstance(column.dtype, pl.List):
        return [" > ".join(filter(None, map(_text, row or ()))) for row in column.to_list()]
    return [_text(value) for value in column.to_list()]


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
