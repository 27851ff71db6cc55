"""Users in any table we read, with their histories or by their ids alone, as the one file a batch job works on."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from sidrec.core.errors import InputError
from sidrec.core.plain_text import short
from sidrec.core.storage import storage_errors
from sidrec.data.column_values import id_strings
from sidrec.data.id_text import split_ids
from sidrec.data.readers import jsonl
from sidrec.data.readers.chunks import plain_suffix
from sidrec.data.readers.table import JSON_LINES, PARQUET, column_names, read_table
from sidrec.data.source import Batch, FilePosition
from sidrec.data.user_histories import UserHistories
from sidrec.pipeline.user_table import HISTORY, USER_ID, UserTable

_SCHEMA = pa.schema({USER_ID: pa.string(), HISTORY: pa.list_(pa.string())})


@contextmanager
def opened_users(
    path: Path, known: Callable[[], UserHistories], beside: Path | None = None
) -> Iterator[tuple[UserTable, int]]:
    """The users of a file, and how many of them nothing is known of; `known` is asked where it holds ids alone.

    What is no parquet with histories is put into such a file for the time being: among the temporary ones of this
    machine, or `beside` a place that others read, too.
    """
    columns = column_names(path)
    if plain_suffix(path) in PARQUET and HISTORY in columns:
        yield UserTable.open(path), 0
        return
    user = USER_ID if USER_ID in columns or len(columns) != 1 else columns[0]
    if user not in columns:
        words = f"no column {USER_ID}; it has: {', '.join(columns[:20])}. A file of ids has it, or one column alone."
        raise InputError(f"{path}: {words}")
    with _folder(beside) as folder:
        file = Path(folder) / "users.parquet"
        strangers = _write(file, _with_histories(path, user) if HISTORY in columns else _looked_up(path, user, known()))
        yield UserTable.open(file, called=path), strangers


@contextmanager
def _folder(beside: Path | None) -> Iterator[str]:
    if beside is None:
        with tempfile.TemporaryDirectory() as folder:
            yield folder
        return
    with storage_errors(beside):
        beside.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=beside.resolve().parent, prefix=f".{beside.name}.users-") as folder:
        yield folder


def _write(file: Path, tables: Iterator[tuple[pa.Table, int]]) -> int:
    strangers = 0
    with pq.ParquetWriter(file, _SCHEMA) as writer:
        for table, unknown in tables:
            writer.write_table(table)
            strangers += unknown
    return strangers


def _looked_up(path: Path, user: str, known: UserHistories) -> Iterator[tuple[pa.Table, int]]:
    for batch in read_table(path, {USER_ID: user}, absent=[HISTORY]):
        ids = id_strings(batch.frame[USER_ID], batch.position)
        rows = known.find(ids)
        found = known.histories(rows)
        items = known.item_ids.gather(found.items).cast(pl.String).to_arrow().cast(pa.string())
        histories = pa.ListArray.from_arrays(pa.array(found.offsets, pa.int32()), items)
        yield _table(ids, histories), int((rows < 0).sum())


def _with_histories(path: Path, user: str) -> Iterator[tuple[pa.Table, int]]:
    if plain_suffix(path) in JSON_LINES:
        for position, objects in jsonl.read_objects(path, user):
            rows = [_listed(value.get(HISTORY), position, at) for at, value in enumerate(objects)]
            yield _table(pl.Series([value[user] for value in objects]), pa.array(rows, pa.list_(pa.string()))), 0
        return
    for batch in read_table(path, {USER_ID: user, HISTORY: HISTORY}):
        yield _table(id_strings(batch.frame[USER_ID], batch.position), _split(batch)), 0


def _table(ids: pl.Series, histories: pa.Array) -> pa.Table:
    return pa.table([ids.to_arrow().cast(pa.string()), histories], schema=_SCHEMA)


def _split(batch: Batch) -> pa.Array:
    rows = [_listed(text, batch.position, at) for at, text in enumerate(batch.frame[HISTORY].to_list())]
    return pa.array(rows, pa.list_(pa.string()))


def _listed(value: object, position: FilePosition, at: int) -> list[str]:
    """`a,b,c` as on the command line, or a list; nothing is an empty history."""
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            raise position.problem(at, HISTORY, f"{short(str(value))} is no list; write a,b,c.") from None
    if value is None or isinstance(value, str):
        try:
            return split_ids(value or "")
        except InputError as error:
            raise position.problem(at, HISTORY, str(error)) from None
    if not isinstance(value, list) or not all(isinstance(part, str | int) for part in value):
        raise position.problem(at, HISTORY, f"{short(str(value))} is no list of item ids; write a,b,c.")
    return [str(part) for part in value]
