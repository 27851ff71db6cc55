"""RecBole atomic files: `.inter` and `.item`, tab-separated, with typed headers such as `user_id:token`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from sidrec.core.errors import InputError
from sidrec.core.plain_text import short
from sidrec.data.readers.columns import Columns, event_columns, item_columns, refuse_repeats, theirs
from sidrec.data.readers.delimited import BARE_TSV, header, read_delimited
from sidrec.data.source import Batch, FilePosition, Source

_TYPES = ("token", "token_seq", "float", "float_seq")


def recbole_source(events: Path, items: Path | None, columns: Columns) -> Source:
    return Source(
        format="recbole",
        files=(events,) if items is None else (events, items),
        interactions=lambda: _read_events(events, columns.events),
        items=None if items is None else lambda: _read_items(items, columns),
    )


def typed_header(path: Path) -> dict[str, str]:
    """Column name -> type, from the header."""
    fields = header(path, BARE_TSV)
    pairs = [field.rpartition(":") for field in fields]
    bad = [field for field, (name, _, kind) in zip(fields, pairs, strict=True) if not name or kind not in _TYPES]
    if bad:
        raise InputError(
            f"{path}, row 1: {short(bad[0])} is not a typed column; RecBole headers read name:type with a type of "
            f"{', '.join(_TYPES)}."
        )
    names = [name for name, _, _ in pairs]
    refuse_repeats(names, path)
    return {name: kind for name, _, kind in pairs}


def _read_events(path: Path, columns: Mapping[str, str]) -> Iterator[Batch]:
    kinds = typed_header(path)
    names = event_columns(list(kinds), columns, path)
    for batch in read_delimited(path, BARE_TSV):
        frame = batch.frame.rename({f"{name}:{kind}": name for name, kind in kinds.items()})
        yield Batch(
            frame.select(**{ours: pl.col(theirs) for ours, theirs in names.items()}), batch.position.calling(names)
        )


def _read_items(path: Path, columns: Columns) -> Iterator[Batch]:
    """Tokens and token sequences stay text (a title is a token sequence, too); floats become numbers."""
    kinds = typed_header(path)
    renamed = item_columns(list(kinds), columns, path)
    for batch in read_delimited(path, BARE_TSV):
        frame = batch.frame.rename({f"{name}:{kind}": name for name, kind in kinds.items()})
        numbers = [_numbers(frame[name], batch.position) for name, kind in kinds.items() if kind == "float"]
        yield Batch(frame.with_columns(numbers).rename(renamed), batch.position.calling(theirs(renamed)))


def _numbers(column: pl.Series, position: FilePosition) -> pl.Series:
    try:
        return column.cast(pl.Float64)
    except PolarsError:
        bad = column.cast(pl.Float64, strict=False).is_null() & column.is_not_null()
        at = int(bad.arg_max() or 0)
        raise position.problem(
            at, column.name, f"{short(column[at])} is not a number, the header says float."
        ) from None
