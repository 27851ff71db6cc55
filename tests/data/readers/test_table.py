"""One table in every format gives the same rows."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
import zstandard

from sidrec.core.errors import InputError
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
    frame = pl.concat([batch.frame for batch in read_items(path, {"item_id": "asin"})])
    assert frame.to_dicts() == [{"item_id": "007", "title": "شاي", "brand": "🍵"}]


def test_lists_stay_lists(tmp_path: Path) -> None:
    for name in ("i.parquet", "i.jsonl"):
        path = write(tmp_path, name, pl.DataFrame({"item_id": ["a"], "categories": [["x", "y"]]}))
        assert next(read_items(path, {})).frame["categories"].to_list() == [["x", "y"]]


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
        list(table_source(tmp_path / name, None, {}).interactions())
