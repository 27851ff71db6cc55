"""Semantic IDs that somebody else made: a table of `item_id` and a column of codes per slot."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.core.plain_text import short
from sidrec.data.catalog import Catalog
from sidrec.data.item_table import read_item_table
from sidrec.data.readers.columns import Columns
from sidrec.data.readers.frames import as_polars, frame_items
from sidrec.data.readers.table import read_items
from sidrec.data.schema import ITEM_ID
from sidrec.data.source import Batch
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.tokenized_items import GIVEN, TokenizedItems
from sidrec.sids.vocabulary import MOST_CODES

IdSource = Path | str | TokenizedItems | pl.DataFrame
"""Ready IDs: the directory of a `sids` artefact, a file or a data frame of codes, or the value itself."""


def given_ids(source: Path | pl.DataFrame, catalog: Catalog) -> TokenizedItems:
    """IDs of these items from a file (CSV, TSV, JSONL, Parquet) or a data frame; rows of other items are left out.

    Every column beside `item_id` is a slot, in their order; a slot's codebook is as large as its largest code asks for.
    """
    name = str(source) if isinstance(source, Path) else "the given IDs"
    frame = read_item_table(_batches(source), None).frame
    slots = [column for column in frame.columns if column != ITEM_ID]
    if not slots or frame.is_empty():
        raise InputError(f"{name}: has no codes; give the columns {ITEM_ID}, c1, c2, ... with a row per item.")
    codes = np.column_stack([_codes(frame[slot], frame[ITEM_ID], name) for slot in slots])
    sizes = tuple(int(largest) + 1 for largest in codes.max(axis=0))
    if sum(sizes) > MOST_CODES:
        raise InputError(
            f"{name}: its codes need codebooks of {sum(sizes):,} codes; at most {MOST_CODES:,} are possible."
        )
    wanted = catalog.item_ids.to_list()
    found = codes[_rows(frame[ITEM_ID].to_list(), wanted, name)]
    ids = SemanticIds(found, sizes, wanted, _fingerprint(found, sizes, wanted))
    figures = {"items": ids.n_items, "unique_ids": ids.n_unique, "collisions_after": ids.n_colliding}
    return TokenizedItems(ids, None, "keep", {"tokenizer": GIVEN, "collision_policy": "keep", **figures})


def _batches(source: Path | pl.DataFrame) -> Iterator[Batch]:
    if isinstance(source, Path):
        return read_items(source, Columns())
    return frame_items(as_polars(source, "semantic IDs"), Columns())


def _codes(column: pl.Series, item_ids: pl.Series, name: str) -> NDArray[np.int32]:
    numbers = pl.Series([None] * len(column)) if column.dtype.is_nested() else column
    numbers = numbers.cast(pl.Float64, strict=False)
    good = ((numbers >= 0) & (numbers < MOST_CODES) & (numbers == numbers.floor())).fill_null(False)
    if not good.all():
        at = int((~good).arg_max() or 0)
        value = "nothing" if column[at] is None else short(str(column[at]))
        raise InputError(
            f"{name}, column {column.name}: item {short(item_ids[at])} has {value}; codes are whole numbers from 0."
        )
    return numbers.cast(pl.Int32).to_numpy()


def _rows(have: list[str], wanted: list[str], name: str) -> list[int]:
    row_of = {item_id: row for row, item_id in enumerate(have)}
    absent = [item_id for item_id in wanted if item_id not in row_of]
    if absent:
        raise InputError(
            f"{name}: no ID for {len(absent)} of {len(wanted)} items, first {short(absent[0])}; add them, or leave "
            "these items out of the dataset."
        )
    return [row_of[item_id] for item_id in wanted]


def _fingerprint(codes: NDArray[np.int32], sizes: tuple[int, ...], item_ids: list[str]) -> str:
    digest = hashlib.sha256(repr((sizes, item_ids)).encode())
    digest.update(np.ascontiguousarray(codes).tobytes())
    return digest.hexdigest()
