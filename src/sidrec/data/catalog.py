"""The catalogue: every item with every text field, one row per item index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.data.item_masks import ItemMasks
from sidrec.data.schema import ITEM_ID, TITLE


@dataclass(frozen=True)
class Catalog:
    """`frame` has `item_id` (string, unique) and any further columns; the row number is the item index."""

    frame: pl.DataFrame

    def __repr__(self) -> str:
        return f"Catalog({len(self):,} items; {', '.join(self.frame.columns)})"

    def __len__(self) -> int:
        return self.frame.height

    @property
    def item_ids(self) -> pl.Series:
        return self.frame[ITEM_ID]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {item_id: item for item, item_id in enumerate(self.item_ids.to_list())}

    def index_of(self, item_ids: Sequence[str]) -> NDArray[np.int32]:
        """Item indices; -1 where the catalogue has no such id."""
        found = (self._positions.get(str(item_id), -1) for item_id in item_ids)
        return np.fromiter(found, dtype=np.int32, count=len(item_ids))

    @cached_property
    def titles(self) -> list[str]:
        """A name to show for each item: its title, or its id where it has none."""
        ids = self.item_ids.to_list()
        if TITLE not in self.frame.columns:
            return ids
        column = self.frame[TITLE]
        if column.dtype == pl.List(pl.String):
            column = column.list.join(", ", ignore_nulls=True)
        if column.dtype.is_nested():
            return ids
        shown = column.cast(pl.String, strict=False).to_list()
        return [title or item_id for title, item_id in zip(shown, ids, strict=True)]

    @cached_property
    def masks(self) -> ItemMasks:
        """Filters as masks over the items, kept between requests."""
        return ItemMasks(self.frame, self.index_of)
