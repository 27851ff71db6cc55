"""RecBole atomic files."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidrec import read_dataset
from sidrec.core.errors import InputError

INTER = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"


def folder(path: Path, inter: str, item: str | None = None) -> Path:
    path.mkdir(exist_ok=True)
    (path / "ml.inter").write_text(inter, encoding="utf-8")
    if item is not None:
        (path / "ml.item").write_text(item, encoding="utf-8")
    return path


def test_typed_headers(tmp_path: Path) -> None:
    rows = "1\t01\t5\t3.0\n1\t02\t4\t1.0\n1\t03\t3\t2.0\n"
    items = 'item_id:token\tmovie_title:token_seq\tyear:float\n01\tToy "Story"\t1995\n02\tHeat\t\n03\tBabe\t1995\n'
    data = read_dataset(folder(tmp_path / "ml", INTER + rows, items), columns={"title": "movie_title"})
    assert [data.catalog.item_ids[int(item)] for item in data.sequences[0]] == ["02", "03", "01"]
    assert data.catalog.titles == ['Toy "Story"', "Heat", "Babe"]
    assert data.catalog.frame["year"].to_list() == [1995.0, None, 1995.0]


@pytest.mark.parametrize(
    ("inter", "item", "message"),
    [
        ("user_id\titem_id:token\n1\t2\n", None, r"ml.inter, row 1: 'user_id' is not a typed column"),
        ("user_id:token\ttimestamp:float\n1\t2\n", None, r"ml.inter: no column item_id"),
        (
            INTER + "1\t01\t5\t3\n",
            "item_id:token\tyear:float\n01\tlong ago\n",
            r"ml.item, row 2, column year: 'long ago'",
        ),
    ],
)
def test_bad_files(tmp_path: Path, inter: str, item: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_dataset(folder(tmp_path / "ml", inter, item))
