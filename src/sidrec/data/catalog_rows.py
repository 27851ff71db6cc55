"""Rows for a catalogue that is there already: its columns, its kinds, and nothing that would be lost on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sidrec.core.errors import InputError
from sidrec.core.mirroring import local
from sidrec.core.plain_text import short
from sidrec.data.column_values import id_strings
from sidrec.data.filter_values import NO, YES, microseconds_of
from sidrec.data.item_table import read_item_table
from sidrec.data.readers.chunks import plain_suffix
from sidrec.data.readers.columns import Columns
from sidrec.data.readers.frames import as_polars, is_frame
from sidrec.data.readers.jsonl import refuse_ragged
from sidrec.data.readers.table import JSON_LINES, is_empty_lines, read_items
from sidrec.data.schema import ITEM_ID
from sidrec.data.source import FilePosition
from sidrec.data.text_columns import as_lists, as_numbers

Items = Any
"""A polars or pandas data frame, or the path of a CSV, JSON lines or Parquet file."""


@dataclass(frozen=True)
class Rows:
    """A table of items as it stands, ids as strings; cells of a text file are text: a catalogue says what they are."""

    frame: pl.DataFrame
    decimal_comma: bool = False
    """Whether 1.299,00 is a number there."""


def item_rows(items: Items | Rows, columns: Mapping[str, str] | None = None, *, whole: bool = False) -> Rows:
    """What is given as items; `columns` says what a file calls ours: `{"item_id": "sku"}`.

    Where rows must be `whole`, no object of a JSON lines file may lack a field that others have.
    """
    if isinstance(items, Rows):
        return items
    if not (is_frame(items) or isinstance(items, str | Path)):
        raise InputError(f"items: {type(items).__name__} is neither a path nor a polars or pandas data frame.")
    if not is_frame(items):
        path = local(items)
        if is_empty_lines(path):
            return Rows(pl.DataFrame(schema={ITEM_ID: pl.String}))
        if whole and plain_suffix(path) in JSON_LINES:
            refuse_ragged(path)
        table = read_item_table(read_items(path, Columns.of(columns)), None, numbers=False)
        return Rows(table.frame, table.decimal_comma)
    frame = as_polars(items, "items")
    if ITEM_ID not in frame.columns:
        raise InputError(f"items need a column {ITEM_ID}; the frame has: {', '.join(frame.columns)}.")
    if frame.is_empty():
        return Rows(frame.with_columns(pl.col(ITEM_ID).cast(pl.String)))
    frame = frame.with_columns(id_strings(frame[ITEM_ID], FilePosition("items", 0)))
    again = frame[ITEM_ID].filter(~frame[ITEM_ID].is_first_distinct())
    if len(again):
        raise InputError(f"item {short(again[0])} is given twice; keep one row per item.")
    return Rows(frame)


def like_catalog(rows: Rows, like: pl.DataFrame) -> pl.DataFrame:
    """The rows' columns in the kinds that the catalogue has them in.

    Numbers with a fraction stay such where the catalogue has whole ones: its column becomes one of fractions.
    """
    unknown = [name for name in rows.frame.columns if name not in like.columns]
    if unknown:
        have = ", ".join(like.columns)
        raise InputError(f"items have a column {unknown[0]} that the catalogue has not ({have}); drop or rename it.")
    columns = rows.frame.iter_columns()
    return pl.DataFrame([_as(column, like[column.name].dtype, rows.decimal_comma) for column in columns])


def filled_up(frame: pl.DataFrame, like: pl.DataFrame) -> pl.DataFrame:
    """Every column of the catalogue, in its order; those that the frame lacks are empty."""
    empty = [pl.lit(None, kind).alias(name) for name, kind in like.schema.items() if name not in frame.columns]
    return frame.with_columns(empty).select(like.columns)


def _as(column: pl.Series, kind: pl.DataType, decimal_comma: bool) -> pl.Series:
    try:
        if kind == pl.Boolean and column.dtype == pl.String:
            return _truths(column)
        if kind.is_temporal() and column.dtype != pl.Null and not column.dtype.is_temporal():
            return _times(column, kind)
        if kind.is_integer() and column.dtype == pl.String:
            exact = column.cast(kind, strict=False)
            if exact.null_count() == column.null_count():
                return exact
        if kind.is_numeric() and column.dtype == pl.String:
            number = as_numbers(column, decimal_comma=decimal_comma)
            column = column if number is None else number
        if isinstance(kind, pl.List) and column.dtype == pl.String:
            column = _lists(column)
        if kind.is_integer() and (column.dtype.is_float() or column.dtype == pl.String):
            numbers = column.cast(pl.Float64)
            return numbers if (numbers != numbers.floor()).any() else numbers.cast(kind)
        if isinstance(kind, pl.List) and not column.dtype.is_nested() and column.dtype != pl.Null:
            column = column.reshape((-1, 1)).arr.to_list()
        return column.cast(kind)
    except pl.exceptions.PolarsError:
        raise InputError(f"items: column {column.name} is {column.dtype}, the catalogue has {kind}.") from None


def _lists(column: pl.Series) -> pl.Series:
    """Each cell by itself: a list where it is written as one, else a list of one."""
    written = column.str.contains(r"^\[.*\]$").fill_null(False)
    found = as_lists(column.filter(written))
    if found is None:
        words = f'column {column.name} holds {short(column.filter(written)[0])}, which is no list; write ["a", "b"].'
        raise InputError(f"items: {words}")
    lists = iter(found.to_list())
    single = [None if cell is None else [cell] for cell in column]
    cells = [next(lists) if listed else one for listed, one in zip(written, single, strict=True)]
    return pl.Series(column.name, cells, dtype=pl.List(pl.String))


def _times(column: pl.Series, kind: pl.DataType) -> pl.Series:
    """Text such as 2024-05-01 or 2024-05-01T12:30; a number could mean any day."""
    times = [microseconds_of(cell) if isinstance(cell, str) else None for cell in column]
    odd = [cell for cell, time in zip(column, times, strict=True) if cell is not None and time is None]
    if odd:
        words = f"column {column.name} holds {short(str(odd[0]))}, the catalogue has times there; write 2024-05-01."
        raise InputError(f"items: {words}")
    return pl.Series(column.name, times, dtype=pl.Datetime("us")).cast(kind)


def _truths(column: pl.Series) -> pl.Series:
    words = column.str.strip_chars().str.to_lowercase()
    odd = words.filter(words.is_not_null() & ~words.is_in([*YES, *NO]))
    if len(odd):
        raise InputError(f"items: column {column.name} holds {short(odd[0])}, the catalogue has true and false there.")
    return words.is_in(list(YES)).set(words.is_null(), None)
