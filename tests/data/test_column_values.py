"""Ids, times and ratings, and what is said about bad ones."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from sidrec.core.errors import InputError
from sidrec.data.column_values import id_strings, mixed_units, ratings, timestamps
from sidrec.data.source import FilePosition

PLACE = FilePosition("reviews.csv", 2)
DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("column", "clock", "values"),
    [
        (pl.Series([3, 1]), "whole", [3, 1]),
        (pl.Series(["3", " 1 "]), "whole", [3, 1]),
        (pl.Series([3.0, 1.0]), "whole", [3, 1]),
        (pl.Series(["3.5", "1"]), "fraction", [3.5, 1.0]),
        (pl.Series(["1e3", "2"]), "whole", [1000, 2]),
        (pl.Series([dt.date(1970, 1, 2)]), "date", [DAY]),
        (pl.Series([dt.datetime(1970, 1, 2)]), "date", [DAY]),
        (pl.Series(["1970-01-02", "1970-01-01T00:00:01", "1970-01-01 00:00:01.5"]), "date", [DAY, 10**6, 1_500_000]),
        (pl.Series(["1970-01-02T00:01", "1970-01-01 00:01+00:01"]), "date", [DAY + 60 * 10**6, 0]),
        (pl.Series(["02.01.1970", "01.01.1970 00:00:01"]), "date", [DAY, 10**6]),
        (pl.Series(["1970-01-01T01:00:00+01:00", "1970-01-01T00:00:00Z"]), "date", [0, 0]),
    ],
)
def test_times(column: pl.Series, clock: str, values: list[float]) -> None:
    found, array = timestamps(column, PLACE)
    assert (found, array.tolist()) == (clock, values)


@pytest.mark.parametrize(
    ("column", "row"),
    [
        (pl.Series(["1", "yesterdayish"]), 3),
        (pl.Series(["1970-01-02", "1970-13-02"]), 3),
        (pl.Series(["02.01.1970", "02.13.1970"]), 3),
        (pl.Series(["1", None, "2"]), 3),
        (pl.Series([1, None]), 3),
        (pl.Series([1.0, float("nan")]), 3),
        (pl.Series(["1", "99999999999999999999"]), 3),
        (pl.Series([0.5, 1e14]), 3),
        (pl.Series([[1], [2]]), 2),
        (pl.Series([True]), 2),
    ],
)
def test_bad_times_are_named(column: pl.Series, row: int) -> None:
    with pytest.raises(InputError, match=f"reviews.csv, row {row}, column timestamp: "):
        timestamps(column, PLACE)


def test_ids_stay_strings() -> None:
    assert id_strings(pl.Series("item_id", ["007", "日本語"]), PLACE).to_list() == ["007", "日本語"]
    assert id_strings(pl.Series("item_id", [7, 8]), PLACE).to_list() == ["7", "8"]
    assert id_strings(pl.Series("item_id", ["a"], dtype=pl.Categorical), PLACE).to_list() == ["a"]


@pytest.mark.parametrize("column", [[1.5, 2.0], [["a"], ["b"]], [True, False]])
def test_ids_of_a_wrong_type_are_refused(column: list[object]) -> None:
    with pytest.raises(InputError, match="column item_id: ids must be strings or whole numbers"):
        id_strings(pl.Series("item_id", column), PLACE)


@pytest.mark.parametrize(("column", "what"), [(["a", None], "missing"), (["a", ""], "empty")])
def test_missing_ids_are_named(column: list[str | None], what: str) -> None:
    with pytest.raises(InputError, match=f"row 3, column item_id: the id is {what}"):
        id_strings(pl.Series("item_id", column), PLACE)


def test_ratings() -> None:
    np.testing.assert_array_equal(ratings(pl.Series(["4.5", None]), PLACE), np.array([4.5, np.nan], np.float32))
    with pytest.raises(InputError, match="row 3, column rating: 'good' is not a number"):
        ratings(pl.Series(["4.5", "good"]), PLACE)


S, MS = 1_700_000_000, 1_700_000_000_000


@pytest.mark.parametrize(
    ("times", "scale", "rows"),
    [
        ([S, S + 5, MS], 1, (0, 2)),
        ([MS, S], 1, (1, 0)),
        ([S * 10**9, 5, MS], 1, (2, 0)),
        ([S, S + 10**8], 1, None),
        ([0, 1, 2, MS], 1, None),  # a missing time written as 0 says nothing about the unit
        ([19_675, 19_676], 1, None),
        ([-S, S], 1, None),
        ([S * 10**6, MS * 10**6], 10**6, (0, 1)),
    ],
)
def test_seconds_beside_milliseconds_are_noticed(times, scale, rows):
    assert mixed_units(np.array(times), scale) == rows


@pytest.mark.parametrize("dtype", [pl.UInt64, pl.String])
def test_times_beyond_63_bits_are_named(dtype):
    column = pl.Series("timestamp", [1, 2**64 - 1], dtype=pl.UInt64).cast(dtype)
    with pytest.raises(InputError, match=r"row 3, column timestamp: the time '18446744073709551615' does not fit"):
        timestamps(column, PLACE)
