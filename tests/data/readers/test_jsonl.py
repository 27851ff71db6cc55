"""JSON lines."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sidrec.core.errors import InputError
from sidrec.data.readers.jsonl import keys, objects_frame, read_columns, read_objects
from sidrec.data.readers.table import read_events


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_as_strings(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"u": "007", "t": 1700000000000, "x": [1]}\n{"t": 2.5, "u": 7}\n{"u": "é"}\n')
    assert keys(path) == ["u", "t", "x"]
    frame = pl.concat([batch.frame for batch in read_columns(path, ["u", "t"])])
    assert frame.rows() == [("007", "1700000000000"), ("7", "2.5"), ("é", None)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"u": 1}\n{"u": 2\n', r"a.jsonl, row 2: not valid JSON"),
        ('{"u": 1}\n[2]\n', r"a.jsonl, row 2: is JSON but not an object"),
        ('{"u": 1}\n{"u": {"id": 2}}\n', r"a.jsonl, row 2, column u: holds a list or an object"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_columns(write(tmp_path / "a.jsonl", text), ["u"]))


@pytest.mark.parametrize(
    ("value", "what"), [("1.5", "strings or whole"), ("true", "strings or whole"), ("null", "missing")]
)
def test_ids_of_items(tmp_path: Path, value: str, what: str) -> None:
    good, bad = '{"id": 7}\n{"id": "x"}\n', f'{{"id": {value}}}\n'
    assert [one["id"] for _, part in read_objects(write(tmp_path / "a.jsonl", good), "id") for one in part] == [
        "7",
        "x",
    ]
    with pytest.raises(InputError, match=rf"row 3, column id: .*{what}"):
        list(read_objects(write(tmp_path / "a.jsonl", good + bad), "id"))


def test_fields_of_any_kind_become_columns() -> None:
    frame = objects_frame(
        [
            {
                "s": "日本",
                "l": ["a", None],
                "n": 1,
                "f": 1,
                "d": {"Brand": "X", "Ages": 3, "more": {}},
                "i": [{"url": 1}],
            },
            {"s": None, "l": [["b"], "c"], "n": 2, "f": 2.5, "m": 1, "e": None, "b": True},
            {"m": "x", "l": "single"},
        ]
    )
    assert "i" not in frame.columns
    assert frame["s"].to_list() == ["日本", None, None]
    assert frame["l"].to_list() == [["a"], ["b", "c"], ["single"]]
    assert frame["n"].dtype == pl.Int64 and frame["f"].to_list() == [1.0, 2.5, None]
    assert frame["d"].to_list() == [["Brand: X", "Ages: 3"], None, None]
    assert frame["m"].to_list() == [None, "1", "x"]
    assert frame["b"].to_list() == [None, True, None] and frame["e"].dtype == pl.Null


def test_half_a_character_becomes_the_sign_for_a_lost_one(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(
        '{"item_id": "a", "title": "\\ud83d lost", "tags": ["\\uD83D\\uDE00", {"x": "\\ude00"}]}\n', encoding="utf-8"
    )
    ((_, objects),) = read_objects(tmp_path / "items.jsonl", "item_id")
    assert objects == [{"item_id": "a", "title": "\ufffd lost", "tags": ["😀", {"x": "\ufffd"}]}]
    assert objects_frame(objects)["title"].to_list() == ["\ufffd lost"]


def test_lists_in_lists_without_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"item_id": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(InputError, match="row 1: not valid JSON"):
        list(read_objects(tmp_path / "items.jsonl", "item_id"))


def test_a_field_that_only_later_objects_have_is_read_or_refused(tmp_path: Path) -> None:
    first = '{"user_id":"u","item_id":"a"}\n{"user_id":"u","item_id":"b","timestamp":2}\n'
    (tmp_path / "a.jsonl").write_text(first)
    assert keys(tmp_path / "a.jsonl") == ["user_id", "item_id", "timestamp"]
    many = '{"user_id":"u","item_id":"a"}\n' * 400_000 + '{"user_id":"u","item_id":"b","timestamp":2}\n'
    (tmp_path / "b.jsonl").write_text(many)
    with pytest.raises(InputError, match=r"row 400001, .*timestamp.* comes for the first time here"):
        list(read_events(tmp_path / "b.jsonl", {}))
