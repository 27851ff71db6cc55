"""What a model can recommend right now, as one value: a request works to its end on the stock it began with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.core.notices import SidrecWarning
from sidrec.data.catalog import Catalog
from sidrec.data.histories import Histories
from sidrec.data.item_filter import FilterLike
from sidrec.data.item_masks import Filtered
from sidrec.data.readers.frames import is_frame
from sidrec.data.schema import ITEM_ID
from sidrec.models.item_ids import ItemIds
from sidrec.models.ranking import Ranking, Recommendations
from sidrec.models.request import Request, check_k


@dataclass(frozen=True)
class Stock:
    """The catalogue with everything that belongs to its items.

    A stock only ever grows: an item keeps its index, so whatever a model holds by item may have more rows than the
    stock of a request that is still under way, and its first `len(stock)` rows are that request's.
    """

    catalog: Catalog
    counts: NDArray[np.int64]
    """Training counts per item: the popularity fallback and the popularity report need them."""
    ids: ItemIds | None = None
    """Semantic IDs, for models that have such."""
    removed: NDArray[np.bool_] | None = None
    """Items that still speak in histories but are never returned."""
    changed: bool = False
    """Whether items came or went since the model was fitted."""

    def __len__(self) -> int:
        return len(self.catalog)

    @property
    def fingerprint(self) -> str:
        """Names what changed since the fit; empty where nothing did."""
        if not self.changed:
            return ""
        codes = b"" if self.ids is None else self.ids.codes.tobytes()
        removed = b"" if self.removed is None else self.removed.tobytes()
        return sha256(codes + removed + self.catalog.frame.write_ndjson().encode()).hexdigest()

    # ---- changes: each gives a new stock, or raises and changes nothing ---------------------------------------------

    def with_items(self, frame: pl.DataFrame, ids: ItemIds | None) -> Stock:
        """New items behind the old ones; `ids` are those of all items."""
        new = np.zeros(frame.height, np.int64)
        removed = None if self.removed is None else np.append(self.removed, np.zeros(frame.height, bool))
        catalog = Catalog(pl.concat([self.catalog.frame, frame], how="vertical_relaxed"))
        return replace(
            self, catalog=catalog, counts=np.append(self.counts, new), ids=ids, removed=removed, changed=True
        )

    def without_items(self, item_ids: Sequence[str]) -> Stock:
        """The same with these items never returned again."""
        item_ids = _listed(item_ids, "remove")
        items = self.catalog.index_of(item_ids)
        if (items < 0).any():
            raise InputError(f"item {item_ids[int(np.argmin(items))]!r} is not in the catalogue; nothing was removed.")
        removed = np.zeros(len(self), bool) if self.removed is None else self.removed.copy()
        removed[items] = True
        if removed.all():
            raise InputError("that would remove every item; nothing was removed.")
        return replace(self, removed=removed, changed=True)

    def with_items_back(self, item_ids: Sequence[str]) -> Stock:
        """The same with these items returned again; those that were not removed stay as they are."""
        item_ids = _listed(item_ids, "restore")
        items = self.catalog.index_of(item_ids)
        if (items < 0).any():
            raise InputError(f"item {item_ids[int(np.argmin(items))]!r} is not in the catalogue; nothing was restored.")
        if self.removed is None or not self.removed[items].any():
            return self
        gone = self.removed.copy()
        gone[items] = False
        return replace(self, removed=gone if gone.any() else None, changed=True)

    def with_facts(self, frame: pl.DataFrame) -> Stock:
        """The same with what `frame` says of these items; its columns are some of the catalogue's."""
        items = self.catalog.index_of(frame[ITEM_ID].to_list())
        if (items < 0).any():
            wrong = frame[ITEM_ID][int(np.argmin(items))]
            raise InputError(f"item {wrong!r} is not in the catalogue; nothing was changed. New items are added.")
        if frame.width == 1:
            raise InputError(f"there is no column but {ITEM_ID}, so nothing is said of these items.")
        source = np.arange(len(self))
        source[items] = len(self) + np.arange(frame.height)
        told = [
            pl.concat([self.catalog.frame.select(name), frame.select(name)], how="vertical_relaxed")[name].gather(
                source
            )
            for name in frame.columns
        ]
        return replace(self, catalog=Catalog(self.catalog.frame.with_columns(told)), changed=True)

    def refuse_known(self, frame: pl.DataFrame) -> None:
        """New items have ids that are new."""
        known = self.catalog.index_of(frame[ITEM_ID].to_list()) >= 0
        if known.any():
            wrong = frame[ITEM_ID][int(known.argmax())]
            raise InputError(f"item {wrong!r} is in the catalogue already; nothing was added. Leave it out.")

    # ---- between the caller's words and item indices ----------------------------------------------------------------

    def filtered(self, allow: FilterLike | None, deny: FilterLike | None) -> Filtered:
        """A request's filters as one mask; the caller is warned of what they name and no item has."""
        found = self.catalog.masks.allowed(allow, deny)
        for note in found.notes:
            warnings.warn(note, SidrecWarning, stacklevel=3)
        return found

    def asked_for_one(
        self, history: Sequence[str], k: int, allow: FilterLike | None, deny: FilterLike | None, *, exclude_seen: bool
    ) -> Request:
        """One user's question, whose answer shall be explained."""
        check_k(k)
        listed = isinstance(history, Iterable) and not isinstance(history, str)
        if not listed or any(not isinstance(item_id, str | int | np.integer) for item_id in history):
            raise InputError("history is one user's list of item ids: ['a', 'b'].", arguments=("history",))
        items = self.catalog.index_of([str(item_id) for item_id in history])
        known = Histories.from_lists([items[items >= 0]])
        if len(known.items) == 0:
            raise InputError("none of the history's items is in the catalogue, so there is no generation to explain.")
        return Request(known, min(k, len(self)), self.filtered(allow, deny).mask, exclude_seen).without(self.removed)

    def ranked(self, request: Request, rank: Callable[[Request], Ranking]) -> Ranking:
        """What `rank` finds for users with a history; those without one get the most popular items."""
        request = request.without(self.removed)
        empty = request.histories.lengths == 0
        if not empty.any():
            return rank(request)
        items = np.full((len(request), request.k), -1, dtype=np.int32)
        scores = np.full((len(request), request.k), -np.inf, dtype=np.float32)
        items[empty], scores[empty] = popular_items(self.counts, request.k, request.allowed)
        rest = np.flatnonzero(~empty)
        if len(rest):
            found = rank(request.take(rest))
            items[rest], scores[rest] = found.items, found.scores
        return Ranking(items, scores)

    def answer(
        self, ranking: Ranking, fallback: list[bool], unknown: list[int], notes: tuple[str, ...] = ()
    ) -> Recommendations:
        """A ranking in ids and titles."""
        titles, real = self.catalog.titles, ranking.items >= 0
        kept = [row[found] for row, found in zip(ranking.items, real, strict=True)]
        return Recommendations(
            item_ids=[self.catalog.item_ids.gather(row).to_list() for row in kept],
            titles=[[titles[item] for item in row] for row in kept],
            scores=[row[found].tolist() for row, found in zip(ranking.scores, real, strict=True)],
            fallback=fallback,
            unknown_items=unknown,
            notes=notes,
        )


def _listed(item_ids: object, what: str) -> list[str]:
    if isinstance(item_ids, str):
        raise InputError(f"items to {what} are a list of item ids: [{item_ids!r}], not a single string.")
    if isinstance(item_ids, Mapping) or is_frame(item_ids) or not isinstance(item_ids, Iterable):
        words = f"items to {what} are a list of item ids: ['a', 'b'], not {type(item_ids).__name__}"
        raise InputError(f"{words}; of a data frame give its column.")
    return [str(item_id) for item_id in item_ids]


def popular_items(
    counts: NDArray[np.int64], k: int, allowed: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The k most frequent allowed items, scored by log share; ties go to the lower item index."""
    pool = np.arange(len(counts)) if allowed is None else np.flatnonzero(allowed)
    best = pool[np.lexsort((pool, -counts[pool]))][:k]
    items = np.full(k, -1, dtype=np.int32)
    scores = np.full(k, -np.inf, dtype=np.float32)
    items[: len(best)] = best
    share = (counts[best] + 1) / (counts.sum() + len(counts))
    scores[: len(best)] = np.log(share)
    return items, scores
