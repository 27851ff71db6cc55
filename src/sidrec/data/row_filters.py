"""Which interactions stay, and in which order: time order, duplicates, k-core, history cut."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.data.interactions import Interactions

Duplicates = Literal["keep", "first", "last"]


def at_least(interactions: Interactions, rating: float) -> Interactions:
    """Rows rated `rating` or better; rows without a rating go."""
    assert interactions.ratings is not None
    return interactions.take(interactions.ratings >= rating)


def time_order(interactions: Interactions) -> Interactions:
    """User by user, oldest first; equal times keep the order of the file."""
    times = interactions.timestamps
    if times is None:
        key = interactions.users.astype(np.int64)
    else:
        low, high = int(times.min()), int(times.max())
        span = high - low + 1
        if span * len(interactions.user_ids) >= 2**63:
            return interactions.take(np.lexsort((times, interactions.users)))
        key = interactions.users.astype(np.int64) * span + (times - low)
    if (key[1:] >= key[:-1]).all():
        return interactions
    return interactions.take(_stable_order(key))


def _stable_order(key: NDArray[np.int64]) -> NDArray[np.uint32]:
    """A stable argsort on all cores."""
    order = pl.DataFrame({"key": key}).select(pl.arg_sort_by("key", maintain_order=True)).to_series()
    return order.to_numpy()


def drop_duplicates(interactions: Interactions, policy: Duplicates) -> Interactions:
    """Of time-ordered rows: a row repeated with the same time goes always, other repeats as the policy says."""
    interactions = _drop_exact(interactions)
    if policy == "keep":
        return interactions
    pair = interactions.users.astype(np.int64) * len(interactions.item_ids) + interactions.items
    kept = pl.DataFrame({"pair": pair}).select(
        pl.col("pair").is_first_distinct() if policy == "first" else pl.col("pair").is_last_distinct()
    )
    mask = kept.to_series().to_numpy()
    return interactions if mask.all() else interactions.take(mask)


def _drop_exact(interactions: Interactions) -> Interactions:
    """Same user, item and time: one stays. Without times nothing can be called the same event."""
    times, users = interactions.timestamps, interactions.users
    if times is None or len(users) < 2:
        return interactions
    same = (users[1:] == users[:-1]) & (times[1:] == times[:-1])
    tied = np.flatnonzero(np.concatenate([same, [False]]) | np.concatenate([[False], same]))
    if not len(tied):
        return interactions
    rows = pl.DataFrame({"user": users[tied], "time": times[tied], "item": interactions.items[tied]})
    repeated = ~rows.select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy()
    if not repeated.any():
        return interactions
    mask = np.ones(len(users), dtype=bool)
    mask[tied[repeated]] = False
    return interactions.take(mask)


def k_core(interactions: Interactions, k: int) -> Interactions:
    """The largest part in which every user and every item has at least `k` interactions."""
    if k <= 1:
        return interactions
    # numpy indexes with machine words: widen once instead of in every round
    users, items = interactions.users.astype(np.intp), interactions.items.astype(np.intp)
    per_user, per_item = np.bincount(users), np.bincount(items)
    rows, alive = np.arange(len(users)), np.ones(len(users), dtype=bool)
    while True:
        good = (per_user >= k)[users] & (per_item >= k)[items]
        gone = np.flatnonzero(alive & ~good)
        if not len(gone):
            return interactions if len(rows) == len(interactions) and good.all() else interactions.take(rows[good])
        per_user -= np.bincount(users[gone], minlength=len(per_user))
        per_item -= np.bincount(items[gone], minlength=len(per_item))
        alive = good
        if 2 * np.count_nonzero(good) < len(good):
            # moving rows costs more than looking at dead ones, until most are dead
            rows, users, items = rows[good], users[good], items[good]
            alive = np.ones(len(rows), dtype=bool)


def newest(interactions: Interactions, count: int) -> Interactions:
    """Of time-ordered rows: each user's newest `count`."""
    users = interactions.users
    ends = np.flatnonzero(np.concatenate([users[1:] != users[:-1], [True]])) + 1
    lengths = np.diff(np.concatenate([[0], ends]))
    from_end = np.repeat(ends, lengths) - np.arange(len(users))
    return interactions if lengths.max(initial=0) <= count else interactions.take(from_end <= count)
