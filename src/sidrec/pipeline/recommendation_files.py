"""Recommendations as text for programs that read no parquet: a CSV row per item, or a JSON object per user."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from sidrec.core.errors import InputError, StorageError
from sidrec.core.storage import remove, siblings, temporary
from sidrec.pipeline.user_table import USER_ID

_PARQUET, _CSV, _JSON = ("", ".parquet", ".pq"), (".csv",), (".jsonl", ".ndjson")
_BEGINNINGS = {**dict.fromkeys(_CSV, b"user_id,place,item_id,"), **dict.fromkeys(_JSON, b'{"user_id":')}


def is_text(output: Path) -> bool:
    """Whether the name asks for text; a name that asks for something unknown is refused."""
    suffix = output.suffix.lower()
    if suffix not in (*_PARQUET, *_CSV, *_JSON):
        words = "recommendations are written to .parquet, .csv or .jsonl files; choose one of these endings."
        raise InputError(f"{output}: {words}", arguments=("output",))
    return suffix not in _PARQUET


def refuse_foreign(output: Path) -> None:
    """Text has no room for a note about who wrote it, so its beginning must be one of ours."""
    begins = _BEGINNINGS[output.suffix.lower()]
    try:
        with output.open("rb") as file:
            ours = file.read(len(begins)) == begins
    except OSError:
        ours = False
    if not ours:
        words = "is there and was not written by sidrec, nothing was touched; choose another place."
        raise StorageError(f"{output}: {words}", arguments=("output",))


def write_text(output: Path, parts: Iterable[Path]) -> None:
    """One text file out of the parts of a job, a part in memory at a time."""
    as_csv = output.suffix.lower() in _CSV
    with new_file(output) as sink:
        for number, part in enumerate(parts):
            frame = pl.DataFrame(pl.from_arrow(pq.read_table(part)))
            if as_csv:
                _by_item(frame).write_csv(sink, include_header=number == 0)
            else:
                frame.write_ndjson(sink)


def write_parquet(file: Path, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    with new_file(file) as sink:
        write_table(sink, tables, schema)


def write_table(sink: BinaryIO, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.replace_schema_metadata(schema.metadata))


@contextmanager
def new_file(file: Path) -> Iterator[BinaryIO]:
    """Complete and on the disk before it gets its name; the caller holds the lock, so others like it are left-overs."""
    for stale in siblings(file, "tmp"):
        remove(stale)
    unfinished = temporary(file)
    with unfinished.open("wb") as sink:
        yield sink
        sink.flush()
        os.fsync(sink.fileno())
    unfinished.replace(file)


def _by_item(frame: pl.DataFrame) -> pl.DataFrame:
    """user_id, place, item_id, score[, title], fallback: users without a single item have no row."""
    lists = {"item_ids": "item_id", "scores": "score", "titles": "title"}
    there = [name for name in lists if name in frame.columns]
    rows = frame.with_columns(place=pl.int_ranges(1, pl.col("item_ids").list.len() + 1))
    rows = rows.filter(pl.col("item_ids").list.len() > 0).explode("place", *there).rename({n: lists[n] for n in there})
    return rows.select(USER_ID, "place", *(lists[name] for name in there), "fallback")
