from __future__ import annotations

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.core.errors import InputError
from sidrec.pipeline.user_table import UserTable

HISTORY = [["a", "b"], [], None, ["c", None]]


def write(path, history: pa.Array, user_ids=("u", "v", "w", "x")):
    pq.write_table(pa.table({"user_id": list(user_ids), "history": history}), path)
    return path


@pytest.mark.parametrize(
    "column",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int32(), pa.string())),
    ],
    ids=str,
)
def test_every_kind_of_list_reads_the_same(column, tmp_path):
    history = pa.array(HISTORY, pa.list_(pa.string())).cast(column)
    (rows,) = UserTable.open(write(tmp_path / "users.parquet", history)).read(0, 10)
    assert rows.histories == [["a", "b"], [], [], ["c", ""]]
    assert rows.user_ids.to_pylist() == ["u", "v", "w", "x"]


def test_whole_numbers_are_ids(tmp_path):
    history = pa.array([[1, 22], [], None, [3]], pa.list_(pa.int64()))
    (rows,) = UserTable.open(write(tmp_path / "users.parquet", history)).read(0, 10)
    assert rows.histories == [["1", "22"], [], [], ["3"]]


@settings(max_examples=25, deadline=None)
@given(n_users=st.integers(1, 40), group=st.integers(1, 40), size=st.integers(1, 45), begin=st.integers(0, 45))
def test_pieces_do_not_depend_on_row_groups(tmp_path_factory, n_users, group, size, begin):
    path = tmp_path_factory.mktemp("users") / "users.parquet"
    frame = pl.DataFrame({"user_id": range(n_users), "history": [[str(user)] for user in range(n_users)]})
    frame.write_parquet(path, row_group_size=group)
    pieces = [rows.user_ids.to_pylist() for rows in UserTable.open(path).read(begin, size)]
    left = list(range(n_users))[begin:]
    assert pieces == [left[start : start + size] for start in range(0, len(left), size)]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"user": ["u"], "history": [["a"]]}, r"has no column user_id \(it has: user, history\)"),
        ({"user": ["u"]}, "has no column user_id .*; has no column history"),
        ({"user_id": ["u"], "history": ["a,b"]}, "column history is string, it must be a list of item ids"),
        ({"user_id": ["u"], "history": [[1.5]]}, "column history is list<element: double>"),
        ({"user_id": ["u"], "history": [[["a"]]]}, "it must be a list of item ids"),
        ({"user_id": pa.array([], pa.string()), "history": pa.array([], pa.list_(pa.string()))}, "has no rows"),
    ],
)
def test_a_wrong_table_is_one_sentence(table, message, tmp_path):
    pq.write_table(pa.table(table), tmp_path / "users.parquet")
    with pytest.raises(InputError, match=message):
        UserTable.open(tmp_path / "users.parquet")


def test_a_file_that_is_no_parquet(tmp_path):
    (tmp_path / "users.csv").write_text("user_id,history\nu,a\n")
    with pytest.raises(InputError, match=r"users\.csv: is not a parquet file"):
        UserTable.open(tmp_path / "users.csv")
