"""CSV and TSV as batches of strings; a bad record is found and named by a second, slow look at its chunk only."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from sidrec.core.errors import InputError
from sidrec.data.readers.chunks import Chunk, chunks
from sidrec.data.readers.columns import refuse_repeats
from sidrec.data.source import Batch, FilePosition


@dataclass(frozen=True)
class Dialect:
    separator: str
    quote: str | None = '"'


_LONGEST_HEADER = 1 << 17
CSV, TSV, BARE_TSV, SEMICOLON = Dialect(","), Dialect("\t"), Dialect("\t", None), Dialect(";")


def csv_dialect(path: Path) -> Dialect:
    """What separates a .csv: commas, unless its header has more fields by semicolons, as in half of Europe, or tabs."""
    line = _header_line(next(chunks(path, quoted=True, block=1 << 16)).data)
    return max((CSV, SEMICOLON, TSV), key=lambda dialect: _n_fields(line, dialect))


def _n_fields(line: str, dialect: Dialect) -> int:
    try:
        return len(next(csv.reader([line[:_LONGEST_HEADER]], **_csv_options(dialect)), []))
    except csv.Error:
        return 0


def header(path: Path, dialect: Dialect) -> list[str]:
    """The column names of a file's first row."""
    first = next(chunks(path, quoted=dialect.quote is not None, block=1 << 16))
    return _names(first.data, dialect, path)


def read_delimited(path: Path, dialect: Dialect, columns: Sequence[str] | None = None) -> Iterator[Batch]:
    """Batches of the named columns (all without `columns`), every value a string; row 1 is the header."""
    pieces = chunks(path, quoted=dialect.quote is not None)
    first = next(pieces)
    names = _names(first.data, dialect, path)
    body = Chunk(first.data.partition(b"\n")[2], 2)
    row = 2
    for chunk in chain([body], pieces):
        if not chunk.data.strip(b"\r\n"):
            continue
        frame = _parsed(chunk, names, columns, dialect, FilePosition(str(path), row))
        yield Batch(frame, FilePosition(str(path), row), typed=False, decimal_comma=dialect == SEMICOLON)
        row += frame.height


def _header_line(data: bytes) -> str:
    return data.partition(b"\n")[0].decode().rstrip("\r")


def _names(data: bytes, dialect: Dialect, path: Path) -> list[str]:
    line = _header_line(data)
    try:
        if len(line) > _LONGEST_HEADER:
            raise csv.Error(f"it has {len(line):,} characters")
        names = next(csv.reader([line], **_csv_options(dialect)), [])
    except csv.Error as error:
        raise InputError(f"{path}, row 1: is no header ({error}); the first row must name the columns.") from None
    if not any(name.strip() for name in names):
        raise InputError(f"{path}, row 1: has no column names; the first row must be the header.")
    names = [name.strip() for name in names]
    refuse_repeats(names, path)
    return names


def _parsed(
    chunk: Chunk, names: list[str], columns: Sequence[str] | None, dialect: Dialect, position: FilePosition
) -> pl.DataFrame:
    try:
        frame = pl.read_csv(
            chunk.data.rstrip(b"\r\n"),
            has_header=False,
            separator=dialect.separator,
            quote_char=dialect.quote,
            schema=dict.fromkeys(names, pl.String),
        )
    except PolarsError:
        _find_ragged(chunk, len(names), dialect, position)
        raise InputError(
            f"{position.at(0)} or one of the {len(chunk.data.splitlines())} rows from there: has a quotation mark "
            "inside a field that is not quoted; quote the field and double the mark."
        ) from None
    if _may_be_short(chunk, frame, dialect):
        _find_ragged(chunk, len(names), dialect, position)
    return frame.select(columns) if columns is not None else frame


def _may_be_short(chunk: Chunk, frame: pl.DataFrame, dialect: Dialect) -> bool:
    """Records with too few fields come back with nulls at the end; counting separators clears most chunks at once."""
    if frame.width < 2 or not frame.to_series(-1).null_count():
        return False
    if dialect.quote is not None and b'"' in chunk.data:
        return True
    return chunk.data.count(dialect.separator.encode()) != frame.height * (frame.width - 1)


def _find_ragged(chunk: Chunk, width: int, dialect: Dialect, position: FilePosition) -> None:
    """Raise for the first record with another number of fields than the header."""
    text = io.StringIO(chunk.data.decode(), newline="")
    csv.field_size_limit(1 << 30)
    index = -1
    try:
        for index, record in enumerate(csv.reader(text, **_csv_options(dialect))):
            if len(record) != width and record:
                raise InputError(
                    f"{position.at(index)}: has {len(record)} fields, the header has {width}; "
                    "correct it or quote its text."
                )
    except csv.Error as error:
        raise InputError(f"{position.at(index + 1)}: cannot be read ({error}); correct it or quote its text.") from None


def _csv_options(dialect: Dialect) -> Any:
    if dialect.quote is None:
        return {"delimiter": dialect.separator, "quoting": csv.QUOTE_NONE}
    return {"delimiter": dialect.separator, "quotechar": dialect.quote}
