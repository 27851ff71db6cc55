"""The cheapest tuples of codes for many items at once, where a tuple costs the sum of its codes' costs."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.floating]


def rank_pattern(n_best: int, codebook_sizes: tuple[int, ...], limit: int) -> NDArray[np.int64] | None:
    """Rank vectors (patterns, n_codes) among which the `n_best` cheapest tuples of *any* item are found.

    A tuple whose codes have ranks r_1 .. r_M (0 = cheapest of its slot) costs no less than the prod(r_m + 1) tuples
    below it, so only rank vectors with a product up to `n_best` can be among the `n_best` cheapest. None where there
    are more than `limit` of them.
    """
    ranks, products = np.zeros((1, 0), np.int64), np.ones(1, np.int64)
    for size in codebook_sizes:
        options = np.minimum(n_best // products, size)
        if options.sum() > limit:
            return None
        rows = np.repeat(np.arange(len(ranks)), options)
        next_rank = np.arange(len(rows)) - np.repeat(np.cumsum(options) - options, options)
        ranks = np.concatenate([ranks[rows], next_rank[:, None]], axis=1)
        products = products[rows] * (next_rank + 1)
    return ranks


def cheapest_tuples(costs: Costs, pattern: NDArray[np.int64], n_best: int) -> tuple[NDArray[np.int32], Costs]:
    """Codes (n, n_best, n_codes) and totals (n, n_best) of the cheapest tuples, cheapest first.

    `costs` is (n, n_codes, max K), infinite where a slot has no such code.
    """
    n, slots = len(costs), costs.shape[1]
    depth = int(pattern.max()) + 1
    order = _cheapest_codes(costs, depth)  # (n, n_codes, depth)
    ordered = np.take_along_axis(costs, order, axis=2).astype(np.float64)
    totals = np.zeros((n, len(pattern)))
    for slot in range(slots):
        totals += ordered[:, slot, pattern[:, slot]]
    kept = min(n_best, len(pattern))
    if kept < len(pattern):
        part = np.argpartition(totals, kept - 1, axis=1)[:, :kept]
        part.sort(axis=1)
    else:
        part = np.broadcast_to(np.arange(len(pattern)), totals.shape)
    part = np.take_along_axis(part, np.argsort(np.take_along_axis(totals, part, 1), axis=1, kind="stable"), 1)
    codes = [np.take_along_axis(order[:, slot], pattern[part, slot], axis=1) for slot in range(slots)]
    return np.stack(codes, axis=-1).astype(np.int32), np.take_along_axis(totals, part, 1)


def _cheapest_codes(costs: Costs, depth: int) -> NDArray[np.int64]:
    if depth < costs.shape[2]:
        part = np.argpartition(costs, depth - 1, axis=2)[:, :, :depth]
        part.sort(axis=2)
    else:
        part = np.broadcast_to(np.arange(costs.shape[2]), costs.shape)
    inner = np.argsort(np.take_along_axis(costs, part, 2), axis=2, kind="stable")
    return np.take_along_axis(part, inner, 2)


def by_rising_cost(costs: Costs) -> Iterator[tuple[int, ...]]:
    """Every tuple of one item's `costs` (n_codes, max K), cheapest first, one at a time.

    A tuple's successors raise the rank in the slot it raised last or in a later one: each tuple is reached once.
    """
    order = np.argsort(costs, axis=1, kind="stable")
    ordered = np.take_along_axis(costs, order, 1).astype(np.float64)
    depth = np.isfinite(ordered).sum(axis=1)
    start = (0,) * len(costs)
    heap: list[tuple[float, tuple[int, ...], int]] = [(float(ordered[:, 0].sum()), start, 0)]
    while heap:
        cost, ranks, last = heapq.heappop(heap)
        yield tuple(int(order[slot, rank]) for slot, rank in enumerate(ranks))
        for slot in range(last, len(costs)):
            rank = ranks[slot] + 1
            if rank < depth[slot]:
                step = float(ordered[slot, rank] - ordered[slot, rank - 1])
                heapq.heappush(heap, (cost + step, (*ranks[:slot], rank, *ranks[slot + 1 :]), slot))
