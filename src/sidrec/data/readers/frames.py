"""Data frames as a source: polars as it is, pandas through Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from sidrec.core.errors import InputError
from sidrec.data.readers.columns import event_columns, item_columns
from sidrec.data.source import Batch, FilePosition, Source

_ROWS = 1_000_000


def frame_source(interactions: Any, items: Any, columns: Mapping[str, str]) -> Source:
    """Interactions and items may each be a polars or a pandas data frame."""
    events = as_polars(interactions, "interactions")
    table = None if items is None else as_polars(items, "items")
    return Source(
        format="frame",
        files=(),
        interactions=lambda: frame_events(events, columns),
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
        return pl.DataFrame(pl.from_pandas(value))
    raise InputError(f"{name}: {type(value).__name__} is neither a path nor a polars or pandas data frame.")


def frame_events(frame: pl.DataFrame, columns: Mapping[str, str]) -> Iterator[Batch]:
    names = event_columns(frame.columns, columns, "interactions")
    renamed = frame.select(**{ours: pl.col(theirs) for ours, theirs in names.items()})
    for start in range(0, renamed.height, _ROWS):
        yield Batch(renamed.slice(start, _ROWS), FilePosition("interactions", start))


def frame_items(frame: pl.DataFrame, columns: Mapping[str, str]) -> Iterator[Batch]:
    yield Batch(frame.rename(item_columns(frame.columns, columns, "items")), FilePosition("items", 0))


def _is_pandas(value: Any) -> bool:
    return (type(value).__module__.partition(".")[0], type(value).__name__) == ("pandas", "DataFrame")
