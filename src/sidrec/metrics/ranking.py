"""Recall, NDCG and MRR from the place of each user's one relevant item.

A rank is 0 for the first place; a negative rank means the item was not in the list at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ranks = NDArray[np.integer[Any]]
MISSING = -1


def ranks_of(ranked: Ranks, targets: Ranks) -> NDArray[np.int32]:
    """Where each target stands in its row of `ranked` (users, k), first place first; -1 where it does not."""
    hits = ranked == targets[:, None]
    return np.where(hits.any(1), hits.argmax(1), MISSING).astype(np.int32)


def hits(ranks: Ranks, k: int) -> NDArray[np.float64]:
    """1 for each user whose item is among the first k, else 0."""
    return ((ranks >= 0) & (ranks < k)).astype(np.float64)


def gains(ranks: Ranks, k: int) -> NDArray[np.float64]:
    """NDCG@k of each user: with one relevant item the ideal is 1, so the gain is 1 / log2(place + 1)."""
    return hits(ranks, k) / np.log2(np.maximum(ranks, 0) + 2.0)


def reciprocals(ranks: Ranks) -> NDArray[np.float64]:
    """1 / place of each user's item, 0 where it is missing."""
    return np.where(ranks >= 0, 1.0 / (np.maximum(ranks, 0) + 1.0), 0.0)


def recall_at(ranks: Ranks, k: int) -> float:
    return _mean(hits(ranks, k))


def ndcg_at(ranks: Ranks, k: int) -> float:
    return _mean(gains(ranks, k))


def mrr(ranks: Ranks) -> float:
    return _mean(reciprocals(ranks))


def _mean(values: NDArray[np.float64]) -> float:
    """Of nobody: 0, so that an empty slice of users has a figure."""
    return float(values.mean()) if len(values) else 0.0
