"""Tables of an artefact, read with suspicion: rows, memory and column kinds are known before anything is believed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl

from sidrec.core.checked_files import damaged, reason
from sidrec.core.memory import too_large

ColumnKind = Literal["id", "text", "count", "whole", "number", "flag"]
"""id: strings, each once; count: whole numbers from 0; none of them may be missing."""
_WORDS: dict[ColumnKind, str] = {
    "id": "strings",
    "text": "strings",
    "count": "whole numbers",
    "whole": "whole numbers",
    "number": "numbers",
    "flag": "yes or no",
}
_MAX_ROWS = (1 << 31) - 1
_CELL_BYTES = 8


class UnreadableError(Exception):
    """Why a file is no table; the reader of the file adds the next step."""


def read_table(file: Path, columns: Mapping[str, ColumnKind]) -> pl.DataFrame:
    """A parquet file that has these columns (and perhaps others)."""
    try:
        frame = read_parquet(file)
    except UnreadableError as error:
        raise damaged(file, str(error)) from None
    for name, kind in columns.items():
        if name not in frame.columns:
            raise damaged(file, f"has no column {name}")
        check_column(frame[name], kind, file)
    return frame


def read_parquet(file: Path) -> pl.DataFrame:
    """Through Arrow, which tells sizes before it reads and answers damage with errors; the name is no pattern."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as found:
            _refuse_large(found.metadata)
            frame = from_arrow(found.read())
    except UnreadableError:
        raise
    except Exception as error:  # a parser that is lied to may raise anything
        raise UnreadableError(f"is not a readable parquet file ({reason(error)})") from None
    return frame


def from_arrow(table: Any) -> pl.DataFrame:
    """Polars believes its neighbours, so names and strings must be UTF-8 and offsets in range; else an error."""
    table = table.replace_schema_metadata()
    _spell_names(list(table.schema))
    table.validate(full=True)
    return pl.DataFrame(pl.from_arrow(table))


def _spell_names(fields: list[Any]) -> None:
    """Every name, also of what lists and structs hold; one that is no UTF-8 raises."""
    for field in fields:
        _ = field.name, [word.decode() for pair in (field.metadata or {}).items() for word in pair]
        _spell_names([field.type.field(inner) for inner in range(field.type.num_fields)])


def _refuse_large(facts: Any) -> None:
    unpacked = sum(facts.row_group(group).total_byte_size for group in range(facts.num_row_groups))
    cells = facts.num_rows * max(facts.num_columns, 1) * _CELL_BYTES
    if not 0 <= facts.num_rows <= _MAX_ROWS:
        raise UnreadableError(f"claims to have {facts.num_rows:,} rows")
    why = too_large(max(unpacked, cells))
    if why is not None:
        raise UnreadableError(why)


def check_column(column: pl.Series, kind: ColumnKind, file: Path) -> None:
    """A column that is not of `kind` is an error that says why."""
    if not _fits(column.dtype, kind):
        raise damaged(file, f"column {column.name} holds {column.dtype} instead of {_WORDS[kind]}")
    if column.null_count():
        raise damaged(file, f"column {column.name} has {column.null_count():,} empty cells")
    if kind in ("count", "whole") and len(column) and column.cast(pl.Int64, strict=False).null_count():
        raise damaged(file, f"column {column.name} has numbers beyond 64 bits")
    if kind == "count" and len(column) and (column < 0).any():
        raise damaged(file, f"column {column.name} has numbers below zero")
    if kind == "number" and column.dtype.is_float() and not column.is_finite().all():
        raise damaged(file, f"column {column.name} has numbers that are not finite")
    if kind == "id" and column.n_unique() != len(column):
        again = column.filter(column.is_duplicated())[0]
        raise damaged(file, f"column {column.name} has {again!r} more than once")


def _fits(dtype: pl.DataType, kind: ColumnKind) -> bool:
    if kind in ("id", "text"):
        return dtype == pl.String
    if kind == "flag":
        return dtype == pl.Boolean
    return dtype.is_integer() if kind in ("count", "whole") else dtype.is_numeric()
