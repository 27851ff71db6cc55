"""Checks of single columns: ids, timestamps and ratings become arrays, or one sentence about the first bad cell."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.plain_text import short
from sidrec.data.schema import RATING, TIMESTAMP
from sidrec.data.source import FilePosition

_WHOLE = re.compile(r"[+-]?\d+")
_GERMAN = r"^(\d\d)\.(\d\d)\.(\d{4})"
"""01.05.2023: with dots the day comes first everywhere."""
Clock = Literal["whole", "fraction", "date"]
"""How a timestamp column counts: whole numbers, numbers with fractions, or dates."""


def id_strings(column: pl.Series, position: FilePosition) -> pl.Series:
    """Ids as the user's strings; whole numbers are written out, anything else is refused."""
    if column.dtype != pl.String:
        if not (column.dtype.is_integer() or isinstance(column.dtype, pl.Categorical | pl.Enum)):
            raise position.problem(
                0, column.name, f"ids must be strings or whole numbers, not {column.dtype}; cast the column first."
            )
        column = column.cast(pl.String)
    if column.null_count():
        at = int(column.is_null().arg_max() or 0)
        raise position.problem(at, column.name, "the id is missing; fill it in or remove the row.")
    if len(column) and (column == "").any():
        at = int((column == "").arg_max() or 0)
        raise position.problem(at, column.name, "the id is empty; fill it in or remove the row.")
    return column


def timestamps(column: pl.Series, position: FilePosition) -> tuple[Clock, NDArray[np.int64] | NDArray[np.float64]]:
    """Numbers as they are, dates as microseconds since 1970 (UTC where they carry no zone)."""
    dtype = column.dtype
    if dtype.is_temporal() and dtype != pl.Time and not isinstance(dtype, pl.Duration):
        _refuse_nulls(column, column, position)
        return "date", column.cast(pl.Datetime("us")).cast(pl.Int64).to_numpy()
    if not (dtype.is_numeric() or dtype in (pl.String, pl.Null)):
        raise position.problem(0, TIMESTAMP, f"cannot read {dtype} as a time; give numbers or ISO dates.")
    if dtype.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        _refuse_nulls(whole, column, position)
        return "whole", whole.to_numpy()
    if dtype == pl.String:
        column = column.str.strip_chars()
        whole = column.cast(pl.Int64, strict=False)
        if not whole.null_count():
            return "whole", whole.to_numpy()
    numbers = column.cast(pl.Float64, strict=False)
    if dtype == pl.String and numbers.null_count() == len(numbers):
        return "date", _dates(column, position)
    _refuse_nulls(numbers, column, position)
    values = numbers.to_numpy()
    # times with fractions are stored in millionths, and must still fit
    readable = np.abs(values) < 2.0**43 if (np.floor(values) != values).any() else np.abs(values) < 2.0**62
    if not readable.all():
        raise _unreadable(int(np.argmin(readable)), column, position)
    return ("whole", values.astype(np.int64)) if (np.floor(values) == values).all() else ("fraction", values)


def mixed_units(times: NDArray[np.int64], scale: int = 1) -> tuple[int, int] | None:
    """Two rows of which one reads as seconds since 1970 and the other as milli-, micro- or nanoseconds, or the like.

    From 1973 to 2286 a time has 9 or 10 digits in seconds, 12 or 13 in milliseconds, and so on; other numbers (row
    counters, days) say nothing. `scale` is how many times a number was enlarged.
    """
    bands = [(10 ** (digits - 1) * scale, 10 ** (digits + 1) * scale) for digits in (9, 12, 15, 18)]
    low, high = int(times.min()), int(times.max())
    if any(begin <= low and high < end for begin, end in bands):
        return None
    first = None
    for begin, end in bands:
        rows = np.flatnonzero((times >= begin) & (times < end)) if low < end and high >= begin else times[:0]
        if len(rows) and first is not None:
            return first, int(rows[0])
        first = int(rows[0]) if len(rows) else first
    return None


def ratings(column: pl.Series, position: FilePosition) -> NDArray[np.float32]:
    """Ratings as numbers; a missing one is NaN, anything else that is no number is refused."""
    numbers = column.cast(pl.Float32, strict=False) if column.dtype != pl.Float32 else column
    bad = numbers.is_null() & column.is_not_null()
    if bad.any():
        at = int(bad.arg_max() or 0)
        raise position.problem(
            at, RATING, f"{short(str(column[at]))} is not a number; correct it or map another column to rating."
        )
    return numbers.fill_null(float("nan")).to_numpy()


def _dates(column: pl.Series, position: FilePosition) -> NDArray[np.int64]:
    text = column.str.replace(_GERMAN, "$3-$2-$1").str.replace(" ", "T", literal=True)
    bare = text.str.replace(r"(Z|[+-]\d\d:?\d\d)$", "")
    length = bare.str.len_chars()
    full = pl.when(length == 10).then(bare + "T00:00:00").when(length == 16).then(bare + ":00").otherwise(bare)
    offset = text.str.extract(r"T.*([+-]\d\d:?\d\d)$", 1).fill_null("+00:00").str.replace(":", "")
    frame = pl.select(when=full, offset=offset)
    parsed = frame.select(
        (pl.col("when") + pl.col("offset")).str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%z", strict=False, time_unit="us")
    ).to_series()
    _refuse_nulls(parsed, column, position)
    return parsed.cast(pl.Int64).to_numpy()


def _refuse_nulls(parsed: pl.Series, original: pl.Series, position: FilePosition) -> None:
    if parsed.null_count():
        raise _unreadable(int(parsed.is_null().arg_max() or 0), original, position)


def _unreadable(at: int, column: pl.Series, position: FilePosition) -> Exception:
    value = column[at]
    if value is None or value == "":
        return position.problem(at, TIMESTAMP, "the time is missing; fill it in or remove the row.")
    text = str(value)
    if _WHOLE.fullmatch(text):
        return position.problem(at, TIMESTAMP, f"the time {short(text)} does not fit into 64 bits; use another unit.")
    return position.problem(
        at,
        TIMESTAMP,
        f"{short(text)} is not a time; give numbers or dates such as 2023-05-01T12:30 or 01.05.2023 12:30, all alike.",
    )
