"""The items table: every id is checked, only the rows that are wanted stay in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from sidrec.core.errors import InputError
from sidrec.core.plain_text import short
from sidrec.data.column_values import id_strings
from sidrec.data.schema import ITEM_ID
from sidrec.data.source import Batch, FilePosition
from sidrec.data.text_columns import typed_columns

_TEXT_LIST = pl.List(pl.String)


@dataclass(frozen=True)
class ItemTable:
    """`frame` holds the wanted items in file order; `ids` are all ids of the file."""

    frame: pl.DataFrame
    ids: pl.Series
    decimal_comma: bool = False
    """Whether 19,99 is a number in text that is still such."""


def read_item_table(batches: Iterator[Batch], wanted: pl.Series | None, *, numbers: bool = True) -> ItemTable:
    """Stream the table; `wanted` are the ids whose fields are kept (all without it).

    Columns of numbers in a text file become such, unless somebody else knows better what they are.
    """
    kept: list[pl.DataFrame] = []
    ids: list[pl.Series] = []
    positions: list[FilePosition] = []
    typed, decimal_comma = True, False
    for batch in batches:
        column = id_strings(batch.frame[ITEM_ID], batch.position)
        ids.append(column)
        positions.append(batch.position)
        typed, decimal_comma = typed and batch.typed, batch.decimal_comma
        frame = batch.frame.with_columns(column)
        frame = frame if wanted is None else frame.filter(column.is_in(wanted.implode()))
        kept.append(frame.select(ITEM_ID, pl.exclude(ITEM_ID)))
    if not ids:
        return ItemTable(pl.DataFrame(schema={ITEM_ID: pl.String}), pl.Series(ITEM_ID, [], dtype=pl.String))
    _refuse_duplicates(ids, positions)
    frame = unite(kept)
    if numbers and not typed:
        frame = typed_columns(frame, keep=(ITEM_ID,), decimal_comma=decimal_comma)
    return ItemTable(frame, pl.concat(ids), decimal_comma)


def unite(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Frames below each other; a column that is a list anywhere is a list everywhere, mixed kinds become text."""
    names = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    kinds = {name: _kind([frame[name].dtype for frame in frames if name in frame.columns]) for name in names}
    return pl.concat(
        [
            frame.select(
                _as(frame[name], kinds[name]) if name in frame.columns else pl.lit(None, dtype=kinds[name]).alias(name)
                for name in names
            )
            for frame in frames
        ]
    )


def _kind(types: Sequence[pl.DataType]) -> pl.DataType:
    found = [kind for kind in dict.fromkeys(types) if kind != pl.Null]
    if any(isinstance(kind, pl.List | pl.Array) for kind in found):
        return _TEXT_LIST
    if found and all(kind.is_numeric() for kind in found):
        return found[0] if len(found) == 1 else pl.Float64()
    if len(found) == 1 and (found[0].is_temporal() or found[0] == pl.Boolean):
        return found[0]
    return pl.String()


def _as(column: pl.Series, kind: pl.DataType) -> pl.Series:
    if kind != _TEXT_LIST:
        return column.cast(kind)
    if isinstance(column.dtype, pl.List | pl.Array):
        return column.cast(_TEXT_LIST)
    text = column.cast(pl.String)
    return pl.select(pl.when(text.is_not_null()).then(text.reshape((-1, 1)).arr.to_list())).to_series().alias(text.name)


def _refuse_duplicates(ids: Sequence[pl.Series], positions: Sequence[FilePosition]) -> None:
    joined = pl.concat(list(ids))
    repeats = ~joined.is_first_distinct()
    if not repeats.any():
        return
    at = int(repeats.arg_max() or 0)
    first = int((joined == joined[at]).arg_max() or 0)
    where = f"{_where(at, ids, positions)}, column {positions[0].column(ITEM_ID)}"
    raise InputError(
        f"{where}: item {short(joined[at])} stands already in row "
        f"{_where(first, ids, positions).rpartition(' ')[2]}; {int(repeats.sum())} of {len(joined)} rows repeat "
        "an item, keep one row per item."
    )


def _where(at: int, ids: Sequence[pl.Series], positions: Sequence[FilePosition]) -> str:
    for column, position in zip(ids, positions, strict=True):
        if at < len(column):
            return position.at(at)
        at -= len(column)
    raise AssertionError("a row outside the table")
