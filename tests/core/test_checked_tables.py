from __future__ import annotations

import datetime

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from sidrec.core import memory
from sidrec.core.checked_tables import read_table
from sidrec.core.errors import ArtifactError

FRAME = pl.DataFrame(
    {
        "item_id": ["a", "ü"],
        "count": [0, 2**40],
        "tags": [["x", None], None],
        "price": [1.5, None],
        "day": [datetime.date(2020, 1, 1), None],
        "kind": pl.Series(["p", "q"], dtype=pl.Categorical),
        "none": [None, None],
    }
)


def test_a_table_comes_back_whatever_columns_it_has(tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet", {"item_id": "id", "count": "count"})
    assert_frame_equal(found, pl.read_parquet(tmp_path / "t.parquet"))


@pytest.mark.parametrize(
    ("column", "kind", "said"),
    [
        (["a", "a"], "id", "column x has 'a' more than once"),
        (["a", None], "id", "column x has 1 empty cells"),
        ([1, 2], "id", "column x holds Int64 instead of strings"),
        ([b"a", b"b"], "text", "column x holds Binary instead of strings"),
        ([0, -1], "count", "column x has numbers below zero"),
        ([0.0, 1.0], "count", "column x holds Float64 instead of whole numbers"),
        (pl.Series([1, 2**63], dtype=pl.UInt64), "whole", "column x has numbers beyond 64 bits"),
        ([1.0, float("nan")], "number", "column x has numbers that are not finite"),
        ([0, 1], "flag", "column x holds Int64 instead of yes or no"),
        ([["a"], ["b"]], "text", r"column x holds List\(String\) instead of strings"),
    ],
)
def test_a_column_of_another_kind_is_named(tmp_path, column, kind, said):
    pl.DataFrame({"x": column}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ArtifactError, match=rf"t\.parquet: {said}; make the artefact again\.$"):
        read_table(tmp_path / "t.parquet", {"x": kind})


def test_an_absent_column_or_file_is_named(tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ArtifactError, match="has no column y"):
        read_table(tmp_path / "t.parquet", {"y": "id"})
    with pytest.raises(ArtifactError, match=r"is not a readable parquet file \(missing\)"):
        read_table(tmp_path / "absent.parquet", {})


def test_the_memory_is_asked_for_before_it_is_taken(tmp_path, monkeypatch):
    """A million equal strings pack into a few bytes."""
    pl.DataFrame({"item_id": ["x" * 100] * 1_000_000}).write_parquet(tmp_path / "t.parquet", compression="zstd")
    assert (tmp_path / "t.parquet").stat().st_size < 20_000
    monkeypatch.setenv(memory.LIMIT, "0.001")
    monkeypatch.setattr(pq.ParquetFile, "read", lambda self: pytest.fail("it was read"))
    with pytest.raises(ArtifactError, match=r"asks for 0\.0 GB of memory"):
        read_table(tmp_path / "t.parquet", {"item_id": "text"})


def test_strings_that_are_no_text_are_refused(tmp_path):
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    pq.write_table(pa.table({"item_id": broken}), tmp_path / "t.parquet")
    with pytest.raises(ArtifactError, match="is not a readable parquet file"):
        read_table(tmp_path / "t.parquet", {"item_id": "id"})


def test_every_single_changed_byte_ends_in_words_or_well(tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    refused = 0
    for at in range(0, len(whole), 29):
        (tmp_path / "t.parquet").write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            read_table(tmp_path / "t.parquet", {"item_id": "id", "count": "count"})
        except ArtifactError:
            refused += 1
    assert refused > 15
