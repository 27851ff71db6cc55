"""The items table: duplicates, wanted rows, kinds of columns."""

from __future__ import annotations

import polars as pl
import pytest

from sidrec.core.errors import InputError
from sidrec.data.item_table import read_item_table, unite
from sidrec.data.source import Batch, FilePosition


def batches(*frames: pl.DataFrame, typed: bool = True) -> list[Batch]:
    rows, found = 2, []
    for frame in frames:
        found.append(Batch(frame, FilePosition("items.csv", rows), typed))
        rows += frame.height
    return found


def test_only_wanted_items_keep_their_fields() -> None:
    frames = batches(pl.DataFrame({"title": ["A", "B"], "item_id": ["a", "b"]}), pl.DataFrame({"item_id": ["c"]}))
    table = read_item_table(iter(frames), pl.Series(["c", "b"]))
    assert table.frame.rows() == [("b", "B"), ("c", None)]
    assert table.ids.to_list() == ["a", "b", "c"]


def test_duplicates_across_batches_are_named() -> None:
    frames = batches(pl.DataFrame({"item_id": ["a", "b"]}), pl.DataFrame({"item_id": ["c", "a"]}))
    with pytest.raises(InputError, match=r"items.csv, row 5, column item_id: item 'a' stands already in row 2"):
        read_item_table(iter(frames), None)


def test_kinds_are_united() -> None:
    first = pl.DataFrame({"item_id": ["a"], "tags": ["x"], "price": [1], "note": [None], "mixed": [1]})
    second = pl.DataFrame({"item_id": ["b"], "tags": [["y", "z"]], "price": [2.5], "mixed": ["two"], "new": ["n"]})
    joined = unite([first, second])
    assert joined.to_dicts() == [
        {"item_id": "a", "tags": ["x"], "price": 1.0, "note": None, "mixed": "1", "new": None},
        {"item_id": "b", "tags": ["y", "z"], "price": 2.5, "note": None, "mixed": "two", "new": "n"},
    ]


def test_a_missing_value_beside_lists_stays_missing() -> None:
    joined = unite([pl.DataFrame({"tags": ["x", None]}), pl.DataFrame({"tags": [["y"]]})])
    assert joined["tags"].to_list() == [["x"], None, ["y"]]


def test_numbers_in_text_files_are_recognised_but_codes_stay() -> None:
    text = pl.DataFrame({"item_id": ["1", "2"], "price": ["3", "4.5"], "code": ["007", "12"], "title": ["5", "x"]})
    frame = read_item_table(iter(batches(text, typed=False)), None).frame
    assert frame.rows() == [("1", 3.0, "007", "5"), ("2", 4.5, "12", "x")]
