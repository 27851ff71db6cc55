"""Which format a folder or file has."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidrec.core.errors import InputError
from sidrec.data.readers.columns import Columns
from sidrec.data.readers.detect import file_source, folder_source

CONTENT = {
    "sequences.tsv": "1\t2 3\n",
    "items.jsonl": '{"item_id": 2}\n',
    "ml.inter": "user_id:token\titem_id:token\ttimestamp:float\n",
    "ml.item": "item_id:token\n",
    "Tea.train.csv": "user_id,parent_asin,rating,timestamp,history\n",
    "Tea.test.csv": "user_id,parent_asin,rating,timestamp,history\n",
    "Tea.jsonl": '{"user_id": "u", "parent_asin": "a", "timestamp": 1}\n',
    "meta_Tea.jsonl": '{"parent_asin": "a"}\n',
    "interactions.csv": "user_id,item_id,timestamp\n",
    "interactions.tsv": "user_id\titem_id\ttimestamp\n",
    "items.csv": "item_id,title\n",
    "README.md": "about\n",
}


def folder(path: Path, *names: str) -> Path:
    for name in names:
        (path / name).write_text(CONTENT[name], encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("names", "format", "read"),
    [
        (("sequences.tsv", "items.jsonl", "README.md"), "sequences", ["sequences.tsv", "items.jsonl"]),
        (("ml.inter", "ml.item"), "recbole", ["ml.inter", "ml.item"]),
        (
            ("Tea.test.csv", "Tea.train.csv", "meta_Tea.jsonl"),
            "amazon",
            ["Tea.train.csv", "Tea.test.csv", "meta_Tea.jsonl"],
        ),
        (("Tea.jsonl", "meta_Tea.jsonl"), "amazon", ["Tea.jsonl", "meta_Tea.jsonl"]),
        (("interactions.csv", "items.csv"), "table", ["interactions.csv", "items.csv"]),
        (("interactions.tsv",), "table", ["interactions.tsv"]),
    ],
)
def test_folders(tmp_path: Path, names: tuple[str, ...], format: str, read: list[str]) -> None:
    source = folder_source(folder(tmp_path, *names), Columns())
    assert (source.format, [file.name for file in source.files]) == (format, read)


def test_an_ambiguous_folder_lists_what_was_seen(tmp_path: Path) -> None:
    both = folder(tmp_path, "sequences.tsv", "ml.inter", "items.csv")
    with pytest.raises(InputError, match=r"sequences: sequences.tsv; recbole: ml.inter.*Choose a format, or name"):
        folder_source(both, Columns())
    assert folder_source(both, Columns(), "recbole").format == "recbole"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("README.md",), r"no interactions in a format we know; it has: README.md"),
        ((), r"it has: nothing"),
        (("interactions.csv", "interactions.tsv"), r"interactions.csv, interactions.tsv"),
        (("Tea.train.csv", "Tea.jsonl"), r"Tea.jsonl, Tea.train.csv"),
        (("interactions.csv", "items.csv", "items.jsonl"), r"several items files"),
    ],
)
def test_unclear_folders(tmp_path: Path, names: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        folder_source(folder(tmp_path, *names), Columns())


@pytest.mark.parametrize(
    ("name", "format"),
    [("sequences.tsv", "sequences"), ("ml.inter", "recbole"), ("Tea.jsonl", "amazon"), ("interactions.csv", "table")],
)
def test_single_files(tmp_path: Path, name: str, format: str) -> None:
    assert file_source(folder(tmp_path, name) / name, None, Columns()).format == format


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: no such file"):
        file_source(tmp_path / "none.csv", None, Columns())
    with pytest.raises(InputError, match="is a folder, not a file"):
        file_source(tmp_path, None, Columns())
