from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sidrec.pipeline.user_reader import UserReader
from sidrec.pipeline.user_table import UserTable


@pytest.fixture
def file(tmp_path) -> Path:
    frame = pl.DataFrame({"user_id": range(100), "history": [[f"i{user}"] for user in range(100)]})
    frame.write_parquet(tmp_path / "users.parquet", row_group_size=40)
    return tmp_path / "users.parquet"


@pytest.mark.parametrize("order", [[0, 7, 14], [0, 21, 70, 98], [98, 0, 7, 7], [35, 42, 3, 10, 77]])
def test_pieces_in_any_order_are_those_of_the_table(order, file):
    reader = UserReader()
    for begin in order:
        wanted = list(range(begin, min(begin + 7, 100)))
        assert reader.take(file, begin, 7).user_ids.to_pylist() == wanted


def test_what_comes_next_is_read_on(file, monkeypatch):
    opened = []
    original = UserTable.open
    monkeypatch.setattr(UserTable, "open", lambda path: opened.append(path) or original(path))
    reader = UserReader()
    for begin in (0, 10, 30, 80):
        reader.take(file, begin, 10)
    assert len(opened) == 2, "once for the first row group, and once for the last one"
