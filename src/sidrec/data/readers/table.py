"""Plain tables: CSV, TSV, JSON lines or Parquet, packed or not, with columns under any name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sidrec.core.checked_files import reason
from sidrec.core.checked_tables import from_arrow
from sidrec.core.errors import InputError
from sidrec.core.memory import too_large
from sidrec.data.readers import delimited, jsonl
from sidrec.data.readers.chunks import plain_suffix
from sidrec.data.readers.columns import event_columns, item_columns
from sidrec.data.schema import ITEM_ID
from sidrec.data.source import Batch, FilePosition, Source

DIALECTS = {".csv": delimited.CSV, ".tsv": delimited.TSV}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
SUFFIXES = (*DIALECTS, *JSON_LINES, *PARQUET)
_ROWS = 1_000_000
_ROW_BYTES = 16
"""What an interaction takes at least: two codes and a time."""


def table_source(interactions: Path, items: Path | None, columns: Mapping[str, str]) -> Source:
    """Both files are looked at once they are read, so that a missing one is reported with its name."""
    return Source(
        format="table",
        files=(interactions,) if items is None else (interactions, items),
        interactions=lambda: read_events(interactions, columns),
        items=None if items is None else lambda: read_items(items, columns),
    )


def column_names(path: Path) -> list[str]:
    """The columns of any table we can read."""
    suffix = plain_suffix(path)
    if suffix in DIALECTS:
        return delimited.header(path, DIALECTS[suffix])
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
    yield from read_table(path, event_columns(column_names(path), columns, path))


def read_table(path: Path, names: Mapping[str, str]) -> Iterator[Batch]:
    """The named columns (ours -> theirs), unchecked."""
    theirs = list(dict.fromkeys(names.values()))
    for batch in _read(path, theirs):
        yield Batch(batch.frame.select(**{ours: pl.col(name) for ours, name in names.items()}), batch.position)


def read_items(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    """Every column of the items, `item_id` under our name."""
    if plain_suffix(path) in JSON_LINES:
        yield from _read_item_objects(path, columns)
        return
    renamed = item_columns(column_names(path), columns, path)
    typed = plain_suffix(path) not in DIALECTS
    for batch in _read(path, None):
        yield Batch(batch.frame.rename(renamed), batch.position, typed)


def _read_item_objects(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    renamed = item_columns(jsonl.keys(path), columns, path)
    id_field = next(old for old, new in renamed.items() if new == ITEM_ID)
    for position, objects in jsonl.read_objects(path, id_field):
        frame = jsonl.objects_frame(objects)
        yield Batch(frame.rename({old: new for old, new in renamed.items() if old in frame.columns}), position)


def _read(path: Path, columns: Sequence[str] | None) -> Iterator[Batch]:
    suffix = plain_suffix(path)
    if suffix in DIALECTS:
        return delimited.read_delimited(path, DIALECTS[suffix], columns)
    if suffix in JSON_LINES:
        return jsonl.read_columns(path, columns or jsonl.keys(path))
    return _read_parquet(path, columns)


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
