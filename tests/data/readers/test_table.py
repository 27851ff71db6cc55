"""One table in every format gives the same rows."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from sidrec.core.errors import InputError
from sidrec.data.readers.columns import Columns
from sidrec.data.readers.table import column_names, read_events, read_items, table_source

EVENTS = pl.DataFrame({"who": ["u1", "u2"], "item_id": ["007", "ア"], "timestamp": [5, 6], "extra": ["x", "y"]})


def write(folder: Path, name: str, frame: pl.DataFrame) -> Path:
    path = folder / name
    writers = {
        ".csv": lambda: frame.write_csv().encode(),
        ".tsv": lambda: frame.write_csv(separator="\t").encode(),
        ".jsonl": lambda: frame.write_ndjson().encode(),
    }
    if name.endswith(".parquet"):
        frame.write_parquet(path)
        return path
    data = writers["." + name.split(".")[1]]()
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(data))
    return path


@pytest.mark.parametrize("name", ["e.csv", "e.tsv", "e.jsonl", "e.parquet", "e.csv.gz", "e.jsonl.zst"])
def test_every_format(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name, EVENTS)
    assert column_names(path) == EVENTS.columns
    frame = pl.concat([batch.frame for batch in read_events(path, {"user_id": "who"})])
    assert frame.with_columns(pl.col("timestamp").cast(pl.Int64)).rows() == [("u1", "007", 5), ("u2", "ア", 6)]


@pytest.mark.parametrize("name", ["i.csv", "i.jsonl.gz", "i.parquet"])
def test_items_keep_every_column(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name, pl.DataFrame({"asin": ["007"], "title": ["شاي"], "brand": ["🍵"]}))
    frame = pl.concat([batch.frame for batch in read_items(path, Columns.of({"item_id": "asin"}))])
    assert frame.to_dicts() == [{"item_id": "007", "title": "شاي", "brand": "🍵"}]


def test_lists_stay_lists(tmp_path: Path) -> None:
    for name in ("i.parquet", "i.jsonl"):
        path = write(tmp_path, name, pl.DataFrame({"item_id": ["a"], "categories": [["x", "y"]]}))
        assert next(read_items(path, Columns())).frame["categories"].to_list() == [["x", "y"]]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("e.parquet", b"PAR1 not really", "not a readable Parquet file"),
        ("e.xlsx", b"x", "cannot tell its format from its name"),
    ],
)
def test_unreadable_tables(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        list(table_source(tmp_path / name, None, Columns()).interactions())


def test_parquet_text_that_is_none_is_refused(tmp_path: Path) -> None:
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    pq.write_table(pa.table({"user_id": broken, "item_id": ["a"], "timestamp": [1]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="damaged Parquet file"):
        list(read_events(tmp_path / "x.parquet", {}))


def test_parquet_rows_beyond_the_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"user_id": ["a"] * 100_000, "item_id": ["b"] * 100_000, "timestamp": [1] * 100_000}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    monkeypatch.setenv("SIDREC_MEMORY_LIMIT_GB", "0.001")
    with pytest.raises(InputError, match=r"with 100,000 rows it asks for 0\.0 GB of memory"):
        list(read_events(tmp_path / "x.parquet", {}))
