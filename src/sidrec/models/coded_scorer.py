"""Item-ID models whose item vectors are made of codes: they take ready IDs, and new items compete at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sidrec.core.errors import InputError, SettingsError
from sidrec.core.settings import Settings
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.schema import ITEM_ID
from sidrec.embeddings.embed import EmbeddingSettings
from sidrec.models.capabilities import AddsItems, HasSemanticIds
from sidrec.models.item_ids import ItemIds, as_catalog_rows
from sidrec.models.item_scorer import ItemScorer, ItemScorerSettings
from sidrec.models.stock import Stock
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.tokenize import TokenizeSettings
from sidrec.sids.tokenized_items import TokenizedItems


class CodedScorer(ItemScorer, HasSemanticIds, AddsItems):
    """What a scorer gains when it knows its items by codes."""

    # ---- semantic IDs -----------------------------------------------------------------------------------------------

    @classmethod
    def ids_by(cls, settings: Settings) -> tuple[EmbeddingSettings, TokenizeSettings] | None:
        assert isinstance(settings, ItemScorerSettings)
        return (settings.embedding, settings.tokenize) if settings.item_vectors.codes else None

    def use_semantic_ids(self, source: Path | TokenizedItems, data: Dataset) -> None:
        if not self.settings.item_vectors.codes:
            words = "item_vectors.codes is off, so semantic IDs have no use; leave them out."
            raise SettingsError(words, arguments=("sids",))
        given = ItemIds.take(source)
        given.check_catalog(data.catalog, str(source) if isinstance(source, Path) else "the given IDs")
        self._given = given

    @property
    def semantic_ids(self) -> SemanticIds:
        """Where the items have no codes, each has an ID of its own: its number."""
        stock = self.stock
        if stock.ids is not None:
            return stock.ids.semantic_ids
        numbers = np.arange(len(stock), dtype=np.int32)[:, None]
        return SemanticIds(numbers, (len(stock),), stock.catalog.item_ids.to_list())

    def _made_from(self) -> dict[str, str]:
        return {"sids": self._given.given} if self._given is not None else {}

    # ---- a catalogue that changes -----------------------------------------------------------------------------------

    def add_items(self, items: Any) -> list[str]:
        """New items compete at once, by codes, text and attributes; all come in or none. Their ids come back.

        `items` is a data frame with `item_id` and text columns like the catalogue's; columns it lacks stay empty.
        """
        with self._changing:
            return self._with_new(items)

    def _with_new(self, items: Any) -> list[str]:
        stock, network = self.stock, self._fitted()
        if stock.ids is None and self._facts.text is None and self._facts.attributes is None:
            raise InputError("this model knows its items by identity only, so it can say nothing of new ones.")
        frame = as_catalog_rows(items, stock.catalog.frame)
        refuse_known(frame, stock)
        ids = None if stock.ids is None else stock.ids.with_new_items(frame)
        facts = self._facts.with_new_items(Catalog(frame))
        grown = stock.with_items(frame, ids)
        items = network.items.grown(facts.features(grown.catalog, ids), len(grown))
        self.network, self._facts = network.with_items(items), facts
        self._stock = grown
        return grown.catalog.item_ids.to_list()[len(stock) :]


def refuse_known(frame: pl.DataFrame, stock: Stock) -> None:
    """New items have ids that are new."""
    ids = frame[ITEM_ID]
    known = (stock.catalog.index_of(ids.to_list()) >= 0) | (~ids.is_first_distinct()).to_numpy()
    if known.any():
        raise InputError(f"item {ids[int(known.argmax())]!r} is already there or is given twice; leave it out.")
