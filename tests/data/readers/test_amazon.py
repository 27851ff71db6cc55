"""Amazon Reviews 2023 files, small and hand-made in the published layout."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sidrec import read_dataset
from sidrec.data.dataset import Dataset
from sidrec.data.readers.amazon import are_parts

HEADER = "user_id,parent_asin,rating,timestamp,history\n"
PARTS = {
    "train": "u1,A,5.0,10,\nu1,B,4.0,20,A\nu2,B,3.0,5,\n",
    "valid": "u1,C,1.0,30,A B\nu2,A,2.0,6,B\n",
    "test": "u1,D,5.0,40,A B C\nu2,D,5.0,7,B A\n",
}
META = [
    {"parent_asin": item, "title": f"T{item}", "features": ["f1", "f2"], "categories": ["x"], "description": [],
     "images": [{"thumb": "http"}], "details": {"Brand": "é"}, "price": None}
    for item in "DCBAZ"
]  # fmt: skip


def folder(path: Path, parts: tuple[str, ...] = ("train", "valid", "test")) -> Path:
    path.mkdir()
    for part in parts:
        (path / f"Tea.{part}.csv.gz").write_bytes(gzip.compress((HEADER + PARTS[part]).encode()))
    lines = "".join(json.dumps(item) + "\n" for item in META)
    (path / "meta_Tea.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    return path


def shown(data: Dataset) -> dict[str, list[str]]:
    ids = data.catalog.item_ids.to_list()
    return {user: [ids[item] for item in row] for user, row in zip(data.user_ids, data.sequences, strict=True)}


def test_the_three_parts_are_one_data_set(tmp_path: Path) -> None:
    data = read_dataset(folder(tmp_path / "tea"))
    assert shown(data) == {"u1": ["A", "B", "C", "D"], "u2": ["B", "A", "D"]}
    assert data.train_ends.tolist() == [2, 1]
    assert data.catalog.item_ids.to_list() == ["D", "C", "B", "A"]  # the order of the meta file, unused Z left out
    assert data.catalog.frame["features"].to_list() == [["f1", "f2"]] * 4
    assert data.catalog.frame["details"].to_list() == [["Brand: é"]] * 4
    assert "images" not in data.catalog.frame.columns


def test_histories_tell_what_a_missing_training_file_would(tmp_path: Path) -> None:
    whole = read_dataset(folder(tmp_path / "all"))
    assert shown(read_dataset(folder(tmp_path / "late", ("valid", "test")))) == shown(whole)


def test_raw_reviews(tmp_path: Path) -> None:
    reviews = [
        {"rating": 5.0, "title": "t", "text": "x", "asin": "A1", "parent_asin": item, "user_id": "u", "timestamp": time}
        for time, item in ((30, "C"), (10, "A"), (20, "B"), (40, "A"))
    ]
    (tmp_path / "Tea.jsonl").write_text("".join(json.dumps(one) + "\n" for one in reviews), encoding="utf-8")
    (tmp_path / "meta_Tea.jsonl").write_text("".join(json.dumps(one) + "\n" for one in META), encoding="utf-8")
    assert shown(read_dataset(tmp_path)) == {"u": ["A", "B", "C", "A"]}
    assert shown(read_dataset(tmp_path, duplicates="first")) == {"u": ["A", "B", "C"]}


@pytest.mark.parametrize(
    ("names", "together"),
    [(("a.train.csv", "a.test.csv"), True), (("a.train.csv", "b.test.csv"), False), (("a.csv", "b.csv"), False)],
)
def test_which_files_belong_together(names: tuple[str, ...], together: bool) -> None:
    assert are_parts([Path(name) for name in names]) is together
