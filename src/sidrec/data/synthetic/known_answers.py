"""Data sets small enough to know what a good model must answer."""

from __future__ import annotations

import numpy as np
import polars as pl

from sidrec.core.errors import InputError
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories
from sidrec.data.synthetic.assemble import leave_one_out_dataset

COLOURS = ("red", "orange", "yellow", "green", "blue", "violet", "white", "black", "silver", "brown")
OBJECTS = ("lamp", "kettle", "scarf", "guitar", "bicycle", "hammer", "teapot", "tent")
ROOMS = ("kitchen", "garden", "workshop", "nursery", "office", "garage", "bathroom", "attic", "cellar", "balcony")


def cycle(n_items: int = 40, n_users: int = 300, length: int = 12, seed: int = 0) -> Dataset:
    """After item i always comes item i + 1 (the first after the last); users begin anywhere."""
    _check(n_items, n_users, length)
    starts = np.random.default_rng(seed).integers(n_items, size=n_users)
    rows = (starts[:, None] + np.arange(length)) % n_items  # (users, length)
    titles = [f"{COLOURS[i % 10]} {OBJECTS[i // 10 % 8]} number {i}" for i in range(n_items)]
    frame = pl.DataFrame({"item_id": [f"stop-{i}" for i in range(n_items)], "title": titles})
    return leave_one_out_dataset(frame, _rows(rows))


def clusters(
    n_clusters: int = 8, cluster_size: int = 10, n_users: int = 400, length: int = 8, seed: int = 0
) -> Dataset:
    """Every user stays in one cluster and never repeats an item; the items of a cluster share their text.

    With seen items excluded, the next item is one of the `cluster_size - length + 1` that are left.
    """
    _check(n_clusters * cluster_size, n_users, length)
    if length > cluster_size:
        raise InputError(f"length {length} needs clusters of at least {length} items, not {cluster_size}.")
    rng = np.random.default_rng(seed)
    home = rng.integers(n_clusters, size=n_users)
    within = rng.permuted(np.tile(np.arange(cluster_size), (n_users, 1)), axis=1)[:, :length]
    items = range(n_clusters * cluster_size)
    rooms = [f"{ROOMS[item // cluster_size % 10]} {item // cluster_size}" for item in items]
    frame = pl.DataFrame(
        {
            "item_id": [f"thing-{item}" for item in items],
            "title": [f"thing for the {room}" for room in rooms],
            "categories": [["things", room] for room in rooms],
        }
    )
    return leave_one_out_dataset(frame, _rows(home[:, None] * cluster_size + within))


def habits(n_items: int = 60, n_users: int = 300, length: int = 12, again: float = 0.9, seed: int = 0) -> Dataset:
    """With probability `again` a user takes the item before the last one once more, otherwise one never taken before.

    What comes next is soon again, or anything: only how long ago an item was tells which.
    """
    _check(n_items, n_users, length)
    if length > n_items:
        raise InputError(f"length {length} needs at least {length} items, not {n_items}.")
    rng = np.random.default_rng(seed)
    fresh = rng.permuted(np.tile(np.arange(n_items), (n_users, 1)), axis=1)[:, :length]
    rows = fresh.copy()
    for place in range(2, length):
        repeats = rng.random(n_users) < again
        rows[:, place] = np.where(repeats, rows[:, place - 2], fresh[:, place])
    frame = pl.DataFrame({"item_id": [f"habit-{item}" for item in range(n_items)]})
    return leave_one_out_dataset(frame, _rows(rows))


def _rows(rows: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Histories:
    """A rectangle as histories."""
    users, length = rows.shape
    return Histories(rows.astype(np.int32).ravel(), np.arange(users + 1, dtype=np.int64) * length)


def _check(n_items: int, n_users: int, length: int) -> None:
    if n_items < 1 or n_users < 1 or length < 3:
        raise InputError("synthetic data needs an item, a user, and a length of 3 or more to split off two items.")
