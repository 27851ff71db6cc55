"""Length groups: rows of like length are computed together, so that little work goes into padding."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def length_groups(lengths: ArrayLike, max_tokens: int | None = None, max_groups: int = 8) -> list[NDArray[np.int64]]:
    """Row numbers split into groups, each to be padded to its longest row; together every row exactly once.

    The at most `max_groups` cuts are the ones with the least padded tokens (found exactly, by dynamic programming over
    the distinct lengths). A group of more than `max_tokens` padded tokens is then cut further, so memory stays bounded.
    Rows keep their order inside a group; groups go from short to long.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    if sizes.size == 0:
        return []
    values, counts = np.unique(sizes, return_counts=True)
    groups = []
    for low, high in _best_cuts(values, counts, max_groups):
        rows = np.flatnonzero((sizes >= values[low]) & (sizes <= values[high]))
        per_group = rows.size if max_tokens is None else max(1, max_tokens // max(1, int(values[high])))
        n_pieces = -(-rows.size // per_group)
        groups.extend(np.array_split(rows, n_pieces))
    return groups


def _best_cuts(values: NDArray[np.int64], counts: NDArray[np.int64], max_groups: int) -> list[tuple[int, int]]:
    """Runs (first, last) of distinct lengths with the least sum of rows times longest length."""
    n = len(values)
    below = np.concatenate([[0], np.cumsum(counts)])
    cost = np.concatenate([[0], np.full(n, np.iinfo(np.int64).max // 2)])  # cost[j]: the first j lengths
    choices = []
    for _ in range(min(max_groups, n)):
        # candidates[i, j]: one more group takes the lengths i..j
        candidates = cost[:-1, None] + (below[None, 1:] - below[:-1, None]) * values[None, :]
        candidates[np.tril_indices(n, -1)] = np.iinfo(np.int64).max // 2
        choices.append(candidates.argmin(axis=0))
        cost = np.concatenate([[0], candidates.min(axis=0)])
    return _walk_back(choices, n)


def _walk_back(choices: list[NDArray[np.int64]], n: int) -> list[tuple[int, int]]:
    runs, end = [], n
    for choice in reversed(choices):
        if end == 0:
            break
        first = int(choice[end - 1])
        runs.append((first, end - 1))
        end = first
    return runs[::-1]
