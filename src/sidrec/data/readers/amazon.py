"""Amazon Reviews 2023: the 5-core files with their histories, raw reviews, and `meta_*` items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from sidrec.core.errors import InputError
from sidrec.data.interactions import IdCodes
from sidrec.data.readers.columns import Columns, event_columns
from sidrec.data.readers.table import column_names, read_items, read_table
from sidrec.data.schema import ITEM_ID, RATING, TIMESTAMP, USER_ID
from sidrec.data.source import Batch, Source

PARENT = "parent_asin"
HISTORY = "history"
_PARTS = ("train", "valid", "test")
_PICTURES = ("images", "videos", "bought_together")


def amazon_source(events: Sequence[Path], items: Path | None, columns: Columns) -> Source:
    """Train, valid and test files together are all interactions; their own split is leave-one-out again."""
    names = columns.over({ITEM_ID: PARENT})
    ordered = tuple(sorted(events, key=_part))
    return Source(
        format="amazon",
        files=ordered if items is None else (*ordered, items),
        interactions=lambda: _read_all(ordered, names.events),
        items=None if items is None else lambda: _read_meta(items, names),
    )


def is_meta(path: Path) -> bool:
    return path.name.startswith("meta_")


def are_parts(paths: Sequence[Path]) -> bool:
    """Whether these files are the train, valid and test parts of one set."""
    parts = [_part(path) for path in paths]
    if len(_PARTS) in parts or len(set(parts)) != len(parts):
        return False
    stems = {path.name.replace(f"{_PARTS[part]}.", "", 1) for path, part in zip(paths, parts, strict=True)}
    return len(stems) == 1


def _part(path: Path) -> int:
    words = path.name.split(".")
    return next((number for number, part in enumerate(_PARTS) if part in words), len(_PARTS))


def _read_all(paths: Sequence[Path], columns: Mapping[str, str]) -> Iterator[Batch]:
    rest = _EarlierItems()
    for path in paths:
        present = column_names(path)
        names = event_columns(present, columns, path)
        if HISTORY in present:
            names |= {HISTORY: HISTORY}
        for batch in read_table(path, names):
            yield from rest.before(batch)
            yield Batch(batch.frame.select(pl.exclude(HISTORY)), batch.position)


class _EarlierItems:
    """Adds what a user did before the first row we see, told by that row's history.

    The full files have a row for every interaction, so nothing is added; with the training file left out, the history
    column of the others still tells it. Rows of a user stand in time order in the published files.
    """

    def __init__(self) -> None:
        self._codes = IdCodes()
        self._seen = np.zeros(0, dtype=bool)

    def before(self, batch: Batch) -> Iterator[Batch]:
        frame, position = batch.frame, batch.position
        if HISTORY not in frame.columns or frame[USER_ID].null_count():
            return
        codes = self._codes.encode(frame[USER_ID])
        grown = np.zeros(max(int(codes.max(initial=-1)) + 1, len(self._seen)), dtype=bool)
        grown[: len(self._seen)] = self._seen
        fresh = pl.Series(codes).is_first_distinct().to_numpy() & ~grown[codes]
        grown[codes] = True
        self._seen = grown
        first = frame.with_row_index("row").filter(pl.Series(fresh) & (frame[HISTORY].fill_null("") != ""))
        if first.height:
            told = first.with_columns(pl.col(HISTORY).str.split(" ")).explode(HISTORY)
            kept = [name for name in (USER_ID, TIMESTAMP) if name in frame.columns]
            rows = position.first_row + told["row"].to_numpy().astype(np.int64)
            unrated = [pl.lit(None, dtype=frame[RATING].dtype).alias(RATING)] if RATING in frame.columns else []
            yield Batch(
                told.select(*kept, pl.col(HISTORY).alias(ITEM_ID), *unrated),
                replace(position, rows=rows),
            )


def _read_meta(path: Path, columns: Columns) -> Iterator[Batch]:
    for batch in read_items(path, columns):
        yield replace(batch, frame=batch.frame.drop(_PICTURES, strict=False))


def looks_amazon(path: Path, columns: Mapping[str, str]) -> bool:
    """A table whose items are `parent_asin` and nothing else says so."""
    if ITEM_ID in columns:
        return columns[ITEM_ID] == PARENT
    try:
        present = column_names(path)
    except InputError:
        return False
    return PARENT in present and ITEM_ID not in present
