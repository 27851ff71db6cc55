"""Columns of a text file as what they are: numbers, truth values, lists; anything else stays text."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
from polars.exceptions import PolarsError

_DECIMAL_COMMA = r"^[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?$"
_LIST = pl.List(pl.String)


def typed_columns(frame: pl.DataFrame, *, keep: Iterable[str] = (), decimal_comma: bool = False) -> pl.DataFrame:
    """Every filled cell of a column must agree; with `decimal_comma` 1.299,00 is a number. `keep` stays text."""
    kept = {*keep}
    columns = [column for column in frame.iter_columns() if column.name not in kept and column.dtype == pl.String]
    found = (_typed(column, decimal_comma) for column in columns if column.null_count() < len(column))
    return frame.with_columns([column for column in found if column is not None])


def _typed(column: pl.Series, decimal_comma: bool) -> pl.Series | None:
    number = as_numbers(column, decimal_comma=decimal_comma)
    if number is not None:
        return number
    truth = column.str.to_lowercase()
    if truth.is_in(["true", "false"]).all(ignore_nulls=True):
        return truth == "true"
    return as_lists(column)


def as_numbers(column: pl.Series, *, decimal_comma: bool = False) -> pl.Series | None:
    """None where a cell is no number, or a code such as 007."""
    found = _plain_numbers(column)
    if found is None and decimal_comma and column.str.contains(_DECIMAL_COMMA).all(ignore_nulls=True):
        return _plain_numbers(column.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True))
    return found


def _plain_numbers(column: pl.Series) -> pl.Series | None:
    parsed = column.cast(pl.Float64, strict=False)
    padded = column.str.contains(r"^[+-]?0\d").any()
    return parsed if parsed.null_count() == column.null_count() and not padded else None


def as_lists(column: pl.Series) -> pl.Series | None:
    """`["a", "b"]`, or with single quotes, as data frames are written to CSV."""
    if not column.str.contains(r"^\[.*\]$").all(ignore_nulls=True):
        return None
    plain = column.str.contains(r'^[^"\\]*$')
    text = pl.select(pl.when(plain).then(column.str.replace_all("'", '"', literal=True)).otherwise(column)).to_series()
    try:
        return text.str.json_decode(_LIST).alias(column.name)
    except PolarsError:
        return None
