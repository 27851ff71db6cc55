"""A catalogue that changes under a fitted model: items come, go, return and get other facts, without training."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from sidrec.core.errors import InputError
from sidrec.data.catalog_rows import Items, filled_up, item_rows, like_catalog
from sidrec.embeddings.given_vectors import as_given
from sidrec.models.capabilities import AddsItems, LearnsOn
from sidrec.models.stock import Stock


class LiveCatalog:
    """The part of every model that keeps its catalogue. Each change happens wholly or not at all."""

    key: str

    def __init__(self) -> None:
        super().__init__()
        self._stock: Stock | None = None
        self._changing = threading.RLock()
        """Held while items come and go: of two changes at once, none is lost."""

    @property
    def stock(self) -> Stock:
        if self._stock is None:
            raise self._not_fitted()
        return self._stock

    def add_items(self, items: Items, *, vectors: Any = None) -> list[str]:
        """Recommend new items at once; their ids come back.

        `items` is a data frame, or the path of a table, with `item_id` and columns of the catalogue; columns it lacks
        stay empty. Where a model's item vectors were given to it, so must be those of new items: `vectors` is an array
        in the order of `items`, a data frame with `item_id` and `vector`, or the path of a file of vectors.
        """
        if not isinstance(self, AddsItems):
            how = "train on from it" if isinstance(self, LearnsOn) else "fit a new one"
            words = f"cannot recommend items that it was not trained with; {how}, with data that has them."
            raise InputError(f"{self.key} {words}")
        given = None if vectors is None else as_given(vectors)
        with self._changing:
            stock, table = self.stock, item_rows(items)
            frame = filled_up(like_catalog(table, stock.catalog.frame), stock.catalog.frame)
            stock.refuse_known(frame)
            if frame.is_empty():
                return []
            # a request takes the stock first, so a network never knows less than the stock that it is asked about
            self._stock = self._with_new_items(stock, frame, given)
        return frame["item_id"].to_list()

    def remove_items(self, item_ids: Sequence[str]) -> None:
        """Never recommend these again; in histories they keep their meaning."""
        with self._changing:
            self._stock = self.stock.without_items(item_ids)

    def restore_items(self, item_ids: Sequence[str]) -> None:
        """Recommend these again, which were removed; all of them or none."""
        with self._changing:
            self._stock = self.stock.with_items_back(item_ids)

    def update_items(self, items: Items) -> list[str]:
        """Give items of the catalogue another price, stock, title or the like; the ids of these items come back.

        `items` has `item_id` and the columns that change. Every cell of these counts: an empty one empties. What the
        model has learned of an item, and its semantic ID, stay as they are.
        """
        with self._changing:
            stock = self.stock
            frame = like_catalog(item_rows(items, whole=True), stock.catalog.frame)
            if frame.is_empty():
                return []
            changed = stock.with_facts(frame)
            self._look_again(changed)
            self._stock = changed
        return frame["item_id"].to_list()

    def _look_again(self, stock: Stock) -> None:
        """The facts of items have changed; for models whose item vectors are made of such."""

    def _not_fitted(self) -> InputError:
        return InputError(f"this {self.key} is not fitted yet; call fit(data) first or load a saved one.")
