"""What each user did, by the user's id: from a prepared dataset or straight from a file of interactions."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.artifacts import MANIFEST
from sidrec.core.errors import InputError
from sidrec.core.plain_text import short
from sidrec.data import row_filters
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories, offsets_of
from sidrec.data.interactions import collect
from sidrec.data.prepare import find_source
from sidrec.data.readers.columns import Columns


@dataclass(frozen=True)
class UserHistories:
    """Row u of `rows` belongs to `user_ids[u]` and holds indices into `item_ids`, oldest first."""

    name: str
    user_ids: pl.Series
    item_ids: pl.Series
    rows: Histories

    @classmethod
    def of_dataset(cls, data: Dataset) -> UserHistories:
        """All that is known of the users, held-out items included: what comes next is asked for."""
        return cls(str(data.path or "the dataset"), data.user_ids, data.catalog.item_ids, data.sequences)

    @classmethod
    def read(cls, source: Path, columns: Columns | None = None) -> UserHistories:
        """From a dataset that was prepared, or any interactions that could be prepared; nothing of them is left out."""
        if (source / MANIFEST).is_file():
            return cls.of_dataset(Dataset.load(source))
        found = find_source(source, columns=columns)
        rows = row_filters.time_order(collect(found.interactions(), str(source)))
        lengths = np.bincount(rows.users, minlength=len(rows.user_ids)).astype(np.int64)
        return cls(str(source), rows.user_ids, rows.item_ids, Histories(rows.items, offsets_of(lengths)))

    def of(self, user_id: str) -> list[str]:
        """One user's items; somebody unknown is refused, with a name that is near."""
        row = int(self.find(pl.Series([user_id]))[0])
        if row < 0:
            near = difflib.get_close_matches(user_id, self.user_ids.head(100_000).to_list(), n=1)
            hint = f"did you mean {short(near[0])}?" if near else "give a history, or interactions that have the user."
            raise InputError(
                f"{self.name}: has no user {short(user_id)} among its {len(self.user_ids):,}; {hint}",
                arguments=("interactions", "history"),
            )
        return [str(item_id) for item_id in self.item_ids.gather(self.rows[row]).to_list()]

    def find(self, user_ids: pl.Series) -> NDArray[np.int64]:
        """The row of each user, -1 where there is none."""
        asked = pl.DataFrame({"user": user_ids.cast(pl.String)})
        rows = asked.join(self._numbered, on="user", how="left", maintain_order="left")["row"]
        return rows.cast(pl.Int64).fill_null(-1).to_numpy()

    def histories(self, rows: NDArray[np.int64]) -> Histories:
        """Of these rows, none for -1."""
        starts, ends = self.rows.offsets[:-1][rows], self.rows.offsets[1:][rows]
        return self.rows.slice_rows(starts, np.where(rows < 0, starts, ends))

    @cached_property
    def _numbered(self) -> pl.DataFrame:
        return pl.DataFrame({"user": self.user_ids.cast(pl.String)}).with_row_index("row")
