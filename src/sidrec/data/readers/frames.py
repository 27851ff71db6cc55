"""Data frames as a source: polars as it is, pandas through Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from sidrec.core.errors import InputError
from sidrec.data.readers.columns import Columns, event_columns, item_columns, refuse_repeats, theirs
from sidrec.data.source import Batch, FilePosition, Source

_ROWS = 1_000_000


def frame_source(interactions: Any, items: Any, columns: Columns) -> Source:
    """Interactions and items may each be a polars or a pandas data frame."""
    events = as_polars(interactions, "interactions")
    table = None if items is None else as_polars(items, "items")
    return Source(
        format="frame",
        files=(),
        interactions=lambda: frame_events(events, columns.events),
        items=None if table is None else lambda: frame_items(table, columns),
    )


def is_frame(value: Any) -> bool:
    return isinstance(value, pl.DataFrame | pl.LazyFrame) or _is_pandas(value)


def as_polars(value: Any, name: str) -> pl.DataFrame:
    """A polars frame; pandas is never imported, only recognised."""
    if isinstance(value, pl.LazyFrame):
        return value.collect()
    if isinstance(value, pl.DataFrame):
        return value
    if _is_pandas(value):
        return _from_pandas(value, name)
    raise InputError(f"{name}: {type(value).__name__} is neither a path nor a polars or pandas data frame.")


def _from_pandas(value: Any, name: str) -> pl.DataFrame:
    """A column in which numbers and text are mixed has no type; whatever else is odd in it is named as well."""
    refuse_repeats([str(column) for column in value.columns], name)
    columns = []
    for column in value.columns:
        try:
            columns.append(pl.Series(str(column), pl.from_pandas(value[column])))
        except Exception as error:  # Arrow and polars each have several errors for it
            kinds = " and ".join(sorted({type(cell).__name__ for cell in value[column]}))
            words = f"holds {kinds}, which are not one kind of value; write it as text first: .astype(str)."
            raise InputError(f"{name}, column {column}: {words}") from error
    return pl.DataFrame(columns)


def frame_events(frame: pl.DataFrame, columns: Mapping[str, str]) -> Iterator[Batch]:
    names = event_columns(frame.columns, columns, "interactions")
    renamed = frame.select(**{ours: pl.col(theirs) for ours, theirs in names.items()})
    for start in range(0, renamed.height, _ROWS):
        yield Batch(renamed.slice(start, _ROWS), FilePosition("interactions", start, names=names))


def frame_items(frame: pl.DataFrame, columns: Columns) -> Iterator[Batch]:
    renamed = item_columns(frame.columns, columns, "items")
    yield Batch(frame.rename(renamed), FilePosition("items", 0, names=theirs(renamed)))


def _is_pandas(value: Any) -> bool:
    return (type(value).__module__.partition(".")[0], type(value).__name__) == ("pandas", "DataFrame")
