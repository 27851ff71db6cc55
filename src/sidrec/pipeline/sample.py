"""A smaller data set out of a large one: some users, and the items they know."""

from __future__ import annotations

import numpy as np
import polars as pl

from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories


def sample_users(data: Dataset, n_users: int, seed: int = 0) -> Dataset:
    """A random `n_users` with their sequences and split; items that none of them has are left out."""
    if n_users >= data.n_users:
        return data
    chosen = np.sort(np.random.default_rng(seed).choice(data.n_users, n_users, replace=False))
    kept = data.sequences.take(chosen)
    items, renumbered = np.unique(kept.items, return_inverse=True)
    stamps = None
    if data.timestamps is not None:
        everyone = Histories(np.arange(len(data.sequences.items), dtype=np.int32), data.sequences.offsets)
        stamps = data.timestamps[everyone.take(chosen).items]
    return Dataset(
        catalog=Catalog(data.catalog.frame[items.tolist()]),
        user_ids=data.user_ids.gather(pl.Series(chosen)),
        sequences=Histories(renumbered.astype(np.int32), kept.offsets),
        train_ends=data.train_ends[chosen],
        validation_ends=data.validation_ends[chosen],
        timestamps=stamps,
    )
