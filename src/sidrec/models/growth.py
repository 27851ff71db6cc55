"""From last week's catalogue to this week's: which items stay, by their ids, and which are new."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.data.catalog import Catalog
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.encoders import GIVEN
from sidrec.embeddings.given_vectors import GivenVectors, read_vectors


@dataclass(frozen=True)
class Growth:
    """Two catalogues of one shop; items are the same where their ids are."""

    old: Catalog
    catalog: Catalog

    @cached_property
    def source(self) -> NDArray[np.int32]:
        """For each item of the new catalogue its index in the old one; -1 where it is new."""
        return self.old.index_of(self.catalog.item_ids.to_list())

    @cached_property
    def new(self) -> Catalog:
        """The new items alone."""
        return Catalog(self.catalog.frame.filter(pl.Series(self.source < 0)))

    @property
    def rows(self) -> NDArray[np.int64]:
        """Where each item of the new catalogue stands among the old items with the new ones behind them."""
        fresh = self.source < 0
        return np.where(fresh, len(self.old) + np.cumsum(fresh) - 1, self.source).astype(np.int64)

    @property
    def words(self) -> str:
        kept = int((self.source >= 0).sum())
        gone = len(self.old) - kept
        return f"{kept:,} items are known, {len(self.new):,} are new, {gone:,} are no longer there"

    def given(self, embedding: EmbeddingSettings) -> GivenVectors | None:
        """The vectors of the new items, where those of all items are given by a file."""
        if embedding.encoder != GIVEN or embedding.vectors is None or not len(self.new):
            return None
        found = read_vectors(embedding.vectors)
        if found.item_ids is not None:
            return found
        return GivenVectors(found.in_catalogue_order(self.catalog)[self.source < 0], found.source)
