"""Rows for a catalogue: what a text file says becomes what the catalogue has, and nothing is lost on the way."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from sidrec.core.errors import InputError
from sidrec.data.catalog_rows import filled_up, item_rows, like_catalog

CATALOG = pl.DataFrame(
    {
        "item_id": ["1", "2"],
        "title": ["Tee", "Käse"],
        "price": [1.5, 2.0],
        "stock": [3, 0],
        "sold": [True, False],
        "tags": [["a", "b"], ["c"]],
    }
)


def test_cells_of_a_text_file_are_what_the_catalogue_says(tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("item_id,title,price,stock,sold,tags\n7,1984,3,12,yes,x\n8,,2.5,0,False,\n", encoding="utf-8")
    rows = like_catalog(item_rows(file), CATALOG)
    assert rows.schema == CATALOG.schema
    assert rows.rows()[0] == ("7", "1984", 3.0, 12, True, ["x"])  # a title of digits stays a title
    assert rows.rows()[1][:5] == ("8", None, 2.5, 0, False)


def test_fractions_are_not_cut_off() -> None:
    given = pl.DataFrame({"item_id": [1], "stock": [2.5]})
    assert like_catalog(item_rows(given), CATALOG)["stock"].to_list() == [2.5]
    whole = pl.DataFrame({"item_id": [1], "stock": ["4"]})
    assert like_catalog(item_rows(whole), CATALOG).schema["stock"] == pl.Int64


def test_columns_that_are_left_out_are_empty() -> None:
    rows = filled_up(like_catalog(item_rows(pl.DataFrame({"item_id": [7]})), CATALOG), CATALOG)
    assert rows.schema == CATALOG.schema and rows.rows() == [("7", None, None, None, None, None)]


def test_own_column_names(tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("sku,name\n7,Brot\n", encoding="utf-8")
    assert item_rows(file, {"item_id": "sku", "title": "name"}).frame.rows() == [("7", "Brot")]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"title": ["x"]}, "need a column item_id"),
        ({"item_id": ["a"], "colour": ["red"]}, "a column colour that the catalogue has not"),
        ({"item_id": ["a"], "price": ["cheap"]}, "column price is String, the catalogue has Float64"),
        ({"item_id": ["a"], "sold": ["maybe"]}, "column sold holds 'maybe', the catalogue has true and false"),
        ({"item_id": ["a", "a"]}, "item 'a' is given twice"),
        ({"item_id": [None]}, "id is missing"),
    ],
)
def test_what_does_not_fit_is_said(given: dict[str, list[object]], words: str) -> None:
    frame = pl.DataFrame(given, schema_overrides={"item_id": pl.String} if "item_id" in given else None)
    with pytest.raises(InputError, match=words):
        like_catalog(item_rows(frame), CATALOG)


def test_no_table_is_said() -> None:
    with pytest.raises(InputError, match="neither a path nor a polars or pandas data frame"):
        item_rows(["a", "b"])


def rows_of(file: Path, text: str, catalog: pl.DataFrame = CATALOG, *, whole: bool = False) -> list[tuple[object, ...]]:
    file.write_text(text, encoding="utf-8")
    return like_catalog(item_rows(file, whole=whole), catalog).rows()


def test_every_cell_of_a_list_column_is_read_by_itself(tmp_path: Path) -> None:
    text = 'item_id,tags\n1,"[""x"", ""y""]"\n2,z\n3,\n'
    assert rows_of(tmp_path / "a.csv", text) == [("1", ["x", "y"]), ("2", ["z"]), ("3", None)]
    with pytest.raises(InputError, match="which is no list"):
        rows_of(tmp_path / "a.csv", 'item_id,tags\n1,"[x, y]"\n')


def test_a_comma_is_decimal_where_the_file_says_so(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "a.csv", "item_id;title;price\n1;2,5;1.299,50\n") == [("1", "2,5", 1299.5)]
    with pytest.raises(InputError, match="column price is String"):
        rows_of(tmp_path / "a.csv", 'item_id,price\n1,"1,299"\n')


def test_whole_numbers_are_not_rounded(tmp_path: Path) -> None:
    large = CATALOG.select("item_id", seller=pl.Series([1, 2], dtype=pl.Int64))
    text = "item_id,seller\n1,1234567890123456790\n2,1234567890123456791\n"
    assert rows_of(tmp_path / "a.csv", text, large) == [("1", 1234567890123456790), ("2", 1234567890123456791)]


def test_days_are_written_as_days(tmp_path: Path) -> None:
    days = CATALOG.select("item_id", day=pl.Series([date(2024, 1, 1)] * 2))
    assert rows_of(tmp_path / "a.csv", "item_id,day\n1,2024-05-01\n2,\n", days) == [
        ("1", date(2024, 5, 1)),
        ("2", None),
    ]
    for odd in (pl.Series("day", [5]), pl.Series("day", ["soon"])):
        with pytest.raises(InputError, match="write 2024-05-01"):
            like_catalog(item_rows(pl.DataFrame([pl.Series("item_id", ["1"]), odd])), days)


def test_a_field_that_is_left_out_is_not_empty(tmp_path: Path) -> None:
    text = '{"item_id":"1","price":3}\n{"item_id":"2","sold":false}\n'
    with pytest.raises(InputError, match=r"a.jsonl, row \d, .*some rows have this field"):
        rows_of(tmp_path / "a.jsonl", text, whole=True)
    assert rows_of(tmp_path / "a.jsonl", text) == [("1", 3.0, None), ("2", None, False)]
    whole = '{"item_id":"1","price":null}\n{"item_id":"2","price":4}\n'
    assert rows_of(tmp_path / "a.jsonl", whole, whole=True) == [("1", None), ("2", 4.0)]


def test_a_table_without_rows_is_no_mistake(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "a.jsonl", "") == []
    assert like_catalog(item_rows(pl.DataFrame({"item_id": [], "price": []})), CATALOG).rows() == []
