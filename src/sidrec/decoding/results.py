"""From found IDs to items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sidrec.data.histories import Histories
from sidrec.decoding.diffusion import SearchResult
from sidrec.decoding.item_index.index import ItemIndex
from sidrec.decoding.user_constraint import UserConstraint


def ranked_items(
    index: ItemIndex, result: SearchResult, k: int, constraint: UserConstraint | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The k best items (users, k): items that share an ID follow each other by item index.

    Give the request's constraint even after an unconstrained search: it leaves out what the user must not get. IDs that
    name no item take no rank; -1 and -inf fill what is left.
    """
    constraint = constraint or UserConstraint(index)
    n_users, n_ids, n_codes = result.codes.shape
    items, offsets = constraint.index.items_of(result.codes.view(-1, n_codes))
    rows = np.repeat(np.arange(n_users * n_ids), np.diff(offsets))
    if constraint.blocked is not None:
        free = ~_are_blocked(constraint.blocked, rows // n_ids, items)
        rows, items = rows[free], items[free]
    users = rows // n_ids
    rank = np.arange(len(users)) - np.searchsorted(users, users)
    kept = rank < k
    ranked = np.full((n_users, k), -1, dtype=np.int32)
    scores = np.full((n_users, k), -np.inf, dtype=np.float32)
    ranked[users[kept], rank[kept]] = items[kept]
    scores[users[kept], rank[kept]] = result.scores.reshape(-1).numpy()[rows[kept]]
    return ranked, scores


def _are_blocked(blocked: Histories, users: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.bool_]:
    owners = np.repeat(np.arange(len(blocked)), blocked.lengths)
    return np.isin(users << 32 | items, owners << 32 | blocked.items)
