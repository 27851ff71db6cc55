"""The figures of the paper's data table, plus what the catalogue has of text."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import polars as pl

from sidrec.data.catalog import Catalog
from sidrec.data.histories import Histories
from sidrec.data.schema import ITEM_ID


@dataclass(frozen=True)
class Statistics:
    users: int
    items: int
    interactions: int
    sparsity: float
    average_length: float
    median_length: float
    shortest: int
    longest: int
    items_with_text: float
    text_fields: dict[str, float]

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def describe(sequences: Histories, catalog: Catalog) -> Statistics:
    """Count everything once; `sparsity` is 1 - interactions / (users * items)."""
    lengths = sequences.lengths
    cells = max(len(sequences) * len(catalog), 1)
    filled = {name: filled_rows(catalog.frame[name]) for name in catalog.frame.columns if is_text(catalog.frame[name])}
    any_text = np.zeros(len(catalog), dtype=bool)
    for rows in filled.values():
        any_text |= rows
    return Statistics(
        users=len(sequences),
        items=len(catalog),
        interactions=len(sequences.items),
        sparsity=1 - len(sequences.items) / cells,
        average_length=float(lengths.mean()) if len(lengths) else 0.0,
        median_length=float(np.median(lengths)) if len(lengths) else 0.0,
        shortest=int(lengths.min(initial=0)) if len(lengths) == 0 else int(lengths.min()),
        longest=int(lengths.max(initial=0)),
        items_with_text=float(any_text.mean()) if len(catalog) else 0.0,
        text_fields={name: float(rows.mean()) if len(rows) else 0.0 for name, rows in filled.items()},
    )


def is_text(column: pl.Series) -> bool:
    """Whether a catalogue column can speak about an item: strings or lists of strings, the id excepted."""
    return column.name != ITEM_ID and (column.dtype == pl.String or column.dtype == pl.List(pl.String))


def filled_rows(column: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Where a text column says something."""
    if column.dtype == pl.String:
        has = column.str.strip_chars().str.len_chars() > 0
    else:
        has = column.list.eval(pl.element().str.strip_chars().str.len_chars() > 0).list.any()
    return has.fill_null(False).to_numpy().astype(bool)
