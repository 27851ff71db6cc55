"""Item-ID models whose item vectors are made of codes: they take ready IDs, and new items compete at once."""

from __future__ import annotations

import numpy as np
import polars as pl

from sidrec.core.errors import InputError, SettingsError
from sidrec.core.settings import Settings
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.given_vectors import GivenVectors
from sidrec.models.capabilities import AddsItems, HasSemanticIds
from sidrec.models.item_ids import ItemIds
from sidrec.models.item_scorer import ItemScorer, ItemScorerSettings
from sidrec.models.stock import Stock
from sidrec.models.successor import refuse_other_ids
from sidrec.sids.given_ids import IdSource
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.tokenize import TokenizeSettings


class CodedScorer(ItemScorer, HasSemanticIds, AddsItems):
    """What a scorer gains when it knows its items by codes."""

    # ---- semantic IDs -----------------------------------------------------------------------------------------------

    @classmethod
    def ids_by(cls, settings: Settings) -> tuple[EmbeddingSettings, TokenizeSettings] | None:
        assert isinstance(settings, ItemScorerSettings)
        return (settings.embedding, settings.tokenize) if settings.item_vectors.codes else None

    def use_semantic_ids(self, source: IdSource, data: Dataset) -> None:
        if not self.settings.item_vectors.codes:
            words = "item_vectors.codes is off, so semantic IDs have no use; leave them out."
            raise SettingsError(words, arguments=("sids",))
        refuse_other_ids(self._start)
        self._given = ItemIds.take(source, data.catalog)

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

    def _with_new_items(self, stock: Stock, frame: pl.DataFrame, given: GivenVectors | None) -> Stock:
        """New items compete at once, by codes, text and attributes."""
        network = self._fitted()
        if stock.ids is None and self._facts.text is None and self._facts.attributes is None:
            raise InputError("this model knows its items by identity only, so it can say nothing of new ones.")
        ids = None if stock.ids is None else stock.ids.with_new_items(frame, given)
        facts = self._facts.with_new_items(Catalog(frame), given)
        grown = stock.with_items(frame, ids)
        items = network.items.grown(facts.features(grown.catalog, ids), len(grown))
        self.network, self._facts = network.with_items(items), facts
        return grown
