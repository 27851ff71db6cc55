"""The best of very many items: a compressed scan finds who may be among them, and these are scored exactly."""

from __future__ import annotations

from collections.abc import Callable

import faiss
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.data.histories import Histories
from sidrec.decoding.top_k import NEVER, first_best
from sidrec.nn.repeats import newest_occurrences

ScoreItems = Callable[[slice, Tensor], Tensor]
"""Scores (rows, n) of the items (rows, n) for the users in the slice."""
BonusOfAges = Callable[[Tensor], Tensor]
Ints = NDArray[np.int64]
CANDIDATES, PER_PLACE, MOST = 2048, 64, 8192
"""So many candidates, or so many for each place of the list; more than the last and scoring all items is cheaper."""
SURE = 4
"""Filters must leave a whole list within the first of so many parts of the candidates: further down the scan misses
some. Users for whom they do not are scored among all items."""
SPARSE = 0.25
"""Where filters allow a smaller share of the items than this, all are scored at once."""
_SAMPLE, _BLOCK, _USERS = 131_072, 65_536, 8


class NearestItems:
    """Each pair of an item's numbers in half a byte: all items are scanned, so no shape of the cloud is missed."""

    def __init__(self, table: NDArray[np.float32]) -> None:
        self.n_items, self._width = table.shape
        pairs = (self._width + 1) // 2
        self._index = faiss.IndexPQFastScan(2 * pairs, pairs, 4, faiss.METRIC_INNER_PRODUCT)
        self._index.train(self._padded(table[:: max(1, self.n_items // _SAMPLE)]))
        for start in range(0, self.n_items, _BLOCK):
            self._index.add(self._padded(table[start : start + _BLOCK]))

    def candidates(self, queries: NDArray[np.float32], n: int) -> Ints:
        """(users, n) items whose product with the query seems largest, best first, -1 where there are fewer."""
        found: Ints = self._index.search(self._padded(queries), n)[1]
        return found

    def _padded(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.pad(np.asarray(rows, np.float32), ((0, 0), (0, self._width % 2)))


def n_candidates(k: int, n_items: int, allowed: NDArray[np.bool_] | None) -> int | None:
    """How many are worth fetching; None where all items are better scored at once."""
    n = max(CANDIDATES, PER_PLACE * k)
    sparse = allowed is not None and np.count_nonzero(allowed) < SPARSE * len(allowed)
    return None if n > min(MOST, n_items // 4) or sparse else n


def best_candidates(
    found: Ints,
    score: ScoreItems,
    histories: Histories,
    k: int,
    *,
    allowed: NDArray[np.bool_],
    exclude_seen: bool,
    bonus: BonusOfAges | None,
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.bool_]]:
    """The k best of each user's candidates and own items, and for whom filters left enough to choose from.

    Own items are always among the candidates, because a repeat term (`bonus`) can lift them above all others.
    """
    own, ages = own_items(histories)
    fit = np.where(within(found, own, len(allowed)) | (found >= len(allowed)), -1, found)
    fit[(fit >= 0) & ~allowed[fit]] = -1
    enough: NDArray[np.bool_] = (fit[:, : fit.shape[1] // SURE] >= 0).sum(1) >= k
    if not exclude_seen:
        fit = np.concatenate([fit, np.where((own >= 0) & allowed[own], own, -1)], axis=1)
        ages = np.concatenate([np.zeros_like(found), ages], axis=1)
    # in the catalogue's order, so that ties go to the lower item
    order = np.argsort(np.where(fit < 0, len(allowed), fit), axis=1, kind="stable")
    fit = np.take_along_axis(fit, order, 1)
    extra = None
    if bonus is not None and not exclude_seen:
        extra = torch.from_numpy(np.take_along_axis(ages, order, 1))
    items = np.full((len(fit), k), -1, dtype=np.int32)
    scores = np.full((len(fit), k), NEVER, dtype=np.float32)
    for start in range(0, len(fit), _USERS):
        rows = slice(start, min(start + _USERS, len(fit)))
        chunk = torch.from_numpy(fit[rows])
        values = score(rows, chunk.clamp_min(0))
        if bonus is not None and extra is not None:
            values += torch.where(extra[rows] > 0, bonus(extra[rows].clamp_min(1)), 0.0)
        best, columns = first_best(values.masked_fill(chunk < 0, NEVER), min(k, chunk.shape[1]))
        items[rows, : best.shape[1]] = chunk.gather(1, columns).masked_fill(best == NEVER, -1).numpy()
        scores[rows, : best.shape[1]] = best.numpy()
    return items, scores, enough


def own_items(histories: Histories) -> tuple[Ints, Ints]:
    """(users, most) different items of each history, -1 where there are fewer, and how long ago each was, 0 there."""
    users, items, ages = newest_occurrences(histories)
    counts = np.bincount(users, minlength=len(histories))
    place = np.arange(len(users)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = (len(histories), int(counts.max(initial=0)))
    own, since = np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    own[users, place], since[users, place] = items, ages
    return own, since


def within(items: Ints, own: Ints, n_items: int) -> NDArray[np.bool_]:
    """Where an item (users, n) is one of its user's own (users, m)."""
    first = np.arange(len(items))[:, None] * (n_items + 1)
    found: NDArray[np.bool_] = np.isin(items + first, (own + first)[own >= 0])
    return found
