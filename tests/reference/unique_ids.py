"""Slow twin of the rule that gives every item an ID of its own.

Look at every (mover, free tuple) pair and settle the smallest increase first.
"""

from __future__ import annotations

from itertools import product


def make_unique_slowly(codes, sizes, costs, taken=()):
    """`costs[item][slot][code]`; returns one tuple per item."""
    own = [tuple(int(code) for code in row) for row in codes]
    price = lambda item, ids: sum(float(costs[item][slot][code]) for slot, code in enumerate(ids))  # noqa: E731
    taken = {tuple(ids) for ids in taken}
    keepers = {}
    for item, ids in enumerate(own):
        if ids not in taken:
            best = keepers.get(ids)
            if best is None or price(item, ids) < price(best, ids):
                keepers[ids] = item
    movers = [item for item in range(len(own)) if keepers.get(own[item]) != item]
    occupied = taken | set(keepers)
    pairs = sorted(
        (price(item, ids) - price(item, own[item]), item, ids)
        for item in movers
        for ids in product(*(range(size) for size in sizes))
        if ids not in occupied
    )
    result, done = list(own), set()
    for _, item, ids in pairs:
        if item not in done and ids not in occupied:
            result[item] = ids
            done.add(item)
            occupied.add(ids)
    return result
