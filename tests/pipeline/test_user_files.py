"""The same users in every form."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sidrec.core.errors import InputError
from sidrec.data.histories import Histories
from sidrec.data.user_histories import UserHistories
from sidrec.pipeline.user_files import opened_users

KNOWN = UserHistories("week", pl.Series(["u1", "u2"]), pl.Series(["a", "b", "c"]), Histories.from_lists([[0, 1], [2]]))
WANTED = [("u1", ["a", "b"]), ("u2", ["c"]), ("u3", [])]


def users_of(path: Path) -> tuple[list[tuple[str, list[str]]], int]:
    with opened_users(path, lambda: KNOWN) as (table, strangers):
        rows = [
            (user, history)
            for piece in table.read(0, 2)
            for user, history in zip(piece.user_ids.to_pylist(), piece.histories, strict=True)
        ]
    return rows, strangers


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("u.csv", 'user_id,history\nu1,"a,b"\nu2,c\nu3,\n'),
        ("u.csv", "user_id;history\nu1;a, b\nu2;c\nu3;\n"),
        ("u.csv", 'user_id,history\nu1,"a\nb"\nu2,c\nu3,\n'),
        ("u.jsonl", '{"user_id":"u3"}\n{"user_id":"u1","history":["a","b"]}\n{"user_id":"u2","history":"c"}\n'),
        ("u.csv", 'user_id;history\nu1;["a","b"]\nu2;["c"]\nu3;[]\n'),
        ("u.jsonl", '{"user_id":"u1","history":["a","b"]}\n{"user_id":"u2","history":"c"}\n{"user_id":"u3"}\n'),
    ],
)
def test_histories_in_text(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    found, strangers = users_of(tmp_path / name)
    assert (sorted(found), strangers) == (WANTED, 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("u.csv", "user_id,name\nu1,x\nu2,y\nu3,z\n"),
        ("u.csv", "Kunde\nu1\nu2\nu3\n"),
        ("u.jsonl", '{"user_id":"u1"}\n{"user_id":"u2"}\n{"user_id":"u3"}\n'),
    ],
)
def test_ids_alone_are_looked_up(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert users_of(tmp_path / name) == (WANTED, 1)


def test_parquet_of_both_kinds(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user_id": ["u1", "u2", "u3"], "history": [["a", "b"], ["c"], []]})
    frame.write_parquet(tmp_path / "both.parquet")
    frame.select("user_id").write_parquet(tmp_path / "ids.parquet")
    assert users_of(tmp_path / "both.parquet") == (WANTED, 0)
    assert users_of(tmp_path / "ids.parquet") == (WANTED, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,history\nx,a\n", r"no column user_id; it has: name, history\."),
        ("user_id,history\nu1,[a\n", r"u.csv, row 2, column history: '\[a' is no list; write a,b,c\."),
        ('user_id,history\nu1,"[{}]"\n', "is no list of item ids"),
        ("user_id\n", "u.csv: has no rows; there is nobody to recommend to"),
    ],
)
def test_what_names_no_users(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "u.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        users_of(tmp_path / "u.csv")
