"""Known cells and what they become."""

from __future__ import annotations

import polars as pl
import pytest

from sidrec.data.text_columns import typed_columns


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["3", "4.5", None], [3.0, 4.5, None]),
        (["007", "12"], ["007", "12"]),
        (["true", "False", None], [True, False, None]),
        (["ja", "nein"], ["ja", "nein"]),
        (['["Küche", "Kaffee"]', "[]", None], [["Küche", "Kaffee"], [], None]),
        (["['a', 'b']", "['c']"], [["a", "b"], ["c"]]),
        (["[a]", "[b"], ["[a]", "[b"]),
        (["[not json]"], ["[not json]"]),
        (["19,99"], ["19,99"]),
        ([None, None], [None, None]),
    ],
)
def test_columns_become_what_they_are(cells: list[str | None], found: list[object]) -> None:
    frame = pl.DataFrame({"x": pl.Series(cells, dtype=pl.String)})
    assert typed_columns(frame)["x"].to_list() == found
    assert typed_columns(frame, keep=("x",))["x"].to_list() == cells


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["19,99", "5", "1.299,00"], [19.99, 5.0, 1299.0]),
        (["19.99", "5.5"], [19.99, 5.5]),
        (["19.99", "5,5"], ["19.99", "5,5"]),
        (["1,2,3"], ["1,2,3"]),
        (["0,5", "-0,25"], [0.5, -0.25]),
        (["007", "1,5"], ["007", "1,5"]),
    ],
)
def test_decimal_commas(cells: list[str], found: list[object]) -> None:
    assert typed_columns(pl.DataFrame({"x": cells}), decimal_comma=True)["x"].to_list() == found
