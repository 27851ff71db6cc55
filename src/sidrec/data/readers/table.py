"""Plain tables: CSV, TSV, JSON lines or Parquet, packed or not, with columns under any name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sidrec.core.checked_files import reason
from sidrec.core.checked_tables import from_arrow
from sidrec.core.errors import InputError
from sidrec.core.memory import too_large
from sidrec.data.readers import delimited, jsonl
from sidrec.data.readers.chunks import plain_suffix
from sidrec.data.readers.columns import Columns, event_columns, item_columns, theirs
from sidrec.data.schema import ITEM_ID, RATING, TIMESTAMP
from sidrec.data.source import Batch, FilePosition, Source

DELIMITED = (".csv", ".tsv")
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
SUFFIXES = (*DELIMITED, *JSON_LINES, *PARQUET)
_ROWS = 1_000_000
_ROW_BYTES = 16
"""What an interaction takes at least: two codes and a time."""


def table_source(interactions: Path, items: Path | None, columns: Columns) -> Source:
    """Both files are looked at once they are read, so that a missing one is reported with its name."""
    return Source(
        format="table",
        files=(interactions,) if items is None else (interactions, items),
        interactions=lambda: read_events(interactions, columns.events),
        items=None if items is None else lambda: read_items(items, columns),
    )


def column_names(path: Path) -> list[str]:
    """The columns of any table we can read."""
    suffix = plain_suffix(path)
    if suffix in DELIMITED:
        return delimited.header(path, _dialect(path))
    if suffix in JSON_LINES:
        return jsonl.keys(path)
    if suffix in PARQUET:
        with _parquet(path) as file:
            return list(file.schema_arrow.names)
    known = ", ".join(SUFFIXES)
    raise InputError(
        f"{path}: cannot tell its format from its name; tables end in {known}, packed ones in .gz or .zst."
    )


def read_events(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    """Interactions under our column names."""
    present = column_names(path)
    absent = [name for name in (TIMESTAMP, columns.get(RATING, RATING)) if name not in present]
    yield from read_table(path, event_columns(present, columns, path), absent)


def read_table(path: Path, names: Mapping[str, str], absent: Sequence[str] = ()) -> Iterator[Batch]:
    """The named columns (ours -> theirs), unchecked; those that are `absent` must not come later."""
    for batch in _read(path, list(dict.fromkeys(names.values())), absent):
        frame = batch.frame.select(**{ours: pl.col(name) for ours, name in names.items()})
        yield replace(batch, frame=frame, position=batch.position.calling(names))


def read_items(path: Path, columns: Columns) -> Iterator[Batch]:
    """Every column of the items, `item_id` under our name."""
    if plain_suffix(path) in JSON_LINES:
        yield from _read_item_objects(path, columns)
        return
    renamed = item_columns(column_names(path), columns, path)
    for batch in _read(path, None):
        yield replace(batch, frame=batch.frame.rename(renamed), position=batch.position.calling(theirs(renamed)))


def _read_item_objects(path: Path, columns: Columns) -> Iterator[Batch]:
    renamed = item_columns(jsonl.keys(path), columns, path)
    id_field = next(old for old, new in renamed.items() if new == ITEM_ID)
    for position, objects in jsonl.read_objects(path, id_field):
        frame = jsonl.objects_frame(objects)
        frame = frame.rename({old: new for old, new in renamed.items() if old in frame.columns})
        yield Batch(frame, position.calling(theirs(renamed)))


def is_empty_lines(path: Path) -> bool:
    """Whether this is a JSON lines file without a line: a table without rows."""
    return plain_suffix(path) in JSON_LINES and path.is_file() and path.stat().st_size == 0


def _read(path: Path, columns: Sequence[str] | None, absent: Sequence[str] = ()) -> Iterator[Batch]:
    suffix = plain_suffix(path)
    if suffix in DELIMITED:
        return delimited.read_delimited(path, _dialect(path), columns)
    if suffix in JSON_LINES:
        return jsonl.read_columns(path, columns or jsonl.keys(path), absent)
    return _read_parquet(path, columns)


def _dialect(path: Path) -> delimited.Dialect:
    return delimited.TSV if plain_suffix(path) == ".tsv" else delimited.csv_dialect(path)


def _read_parquet(path: Path, columns: Sequence[str] | None) -> Iterator[Batch]:
    import pyarrow as pa

    row = 1
    with _parquet(path) as file:
        try:
            for piece in file.iter_batches(batch_size=_ROWS, columns=columns):
                frame = from_arrow(pa.Table.from_batches([piece]))
                yield Batch(frame, FilePosition(str(path), row))
                row += frame.height
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: damaged Parquet file ({reason(error)}); export or copy it again.") from None


def _parquet(path: Path) -> Any:
    # a heavy import that other formats do without
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        why = too_large(file.metadata.num_rows * _ROW_BYTES)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path.") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({reason(error)}); export or copy it again.") from None
    if why is not None:
        raise InputError(f"{path}: with {file.metadata.num_rows:,} rows it {why}.")
    return file
