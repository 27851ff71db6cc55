"""Every item an ID of its own: colliding items move to the free tuple that costs least.

The rule: of the items that share an ID, the one nearest to it keeps it (the lower item on a tie); the others are
movers. Among all pairs of a mover and a tuple no keeper holds, the one with the smallest increase of distance is
settled first (the lower mover on a tie), then the next, until every mover has a tuple. That is the stable matching of
movers and tuples, so it can be found in rounds, all movers at once: each proposes the cheapest tuple it has not lost
yet, each tuple keeps the best proposal. The policy is called `unique`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidrec.sids.base import Codes
from sidrec.sids.cheapest_tuples import by_rising_cost, cheapest_tuples, rank_pattern
from sidrec.sids.held_tuples import Held, Items, Keys
from sidrec.sids.id_keys import contains, groups, id_keys, weights_of

CostsOf = Callable[[Items], NDArray[np.float32]]
"""Costs (n, n_codes, max K) of every code in every slot for some items."""

_PATTERN_LIMIT = 16_384
_CELLS = 4_000_000


@dataclass(frozen=True)
class TupleMatcher:
    """What stays fixed while tuples are dealt out."""

    codes: Codes
    sizes: tuple[int, ...]
    costs_of: CostsOf
    occupied: Keys

    def match(self, movers: Items) -> tuple[Held, Items]:
        """The matching, with candidate lists that grow until they hold every tuple or are too long to sort.

        Movers whose list ran out are returned beside it.
        """
        held, left, n_best, size = Held.nothing(len(self.sizes)), movers, 8, 0
        while len(left):
            pattern = rank_pattern(n_best, self.sizes, _PATTERN_LIMIT)
            if pattern is None or len(pattern) == size:
                break
            held, left = self._stage(held, left, pattern, n_best)
            n_best, size = 4 * n_best, len(pattern)
        return held, left

    def _stage(self, held: Held, waiting: Items, pattern: NDArray[np.int64], n_best: int) -> tuple[Held, Items]:
        """Deal with `n_best` candidates per mover, block by block; who is displaced waits again."""
        block, out = max(_CELLS // (n_best * len(self.sizes)), 1), []
        while len(waiting):
            now, waiting = np.sort(waiting[:block]), waiting[block:]
            held, displaced, ran_out = self._deal(held, now, pattern, n_best)
            waiting = np.concatenate([waiting, displaced])
            out.append(ran_out)
        return held, np.sort(np.concatenate(out))

    def _deal(self, held: Held, movers: Items, pattern: NDArray[np.int64], n_best: int) -> tuple[Held, Items, Items]:
        """Rounds of proposals by `movers` (ascending); also who was displaced by them and who ran out of candidates."""
        codes, increase, n_free = self._candidates(movers, pattern, n_best)
        n_tried, active, displaced = np.zeros(len(movers), np.int64), np.flatnonzero(n_free), [movers[:0]]
        while len(active):
            chosen = codes[active, n_tried[active]]
            keys = id_keys(chosen, self.sizes)
            proposals = Held(keys, movers[active], increase[active, n_tried[active]], chosen)
            held, losers = held.challenged(proposals)
            own = contains(movers.view(np.uint64), losers.view(np.uint64))
            displaced.append(losers[~own])
            lost = np.searchsorted(movers, losers[own])
            n_tried[lost] += 1
            active = lost[n_tried[lost] < n_free[lost]]
        return held, np.concatenate(displaced), movers[n_tried >= n_free]

    def _candidates(
        self, movers: Items, pattern: NDArray[np.int64], n_best: int
    ) -> tuple[Codes, NDArray[np.float64], Items]:
        """Free tuples, cheapest first, what each costs more than the mover's own tuple, and how many there are."""
        rows = max(_CELLS // max(len(pattern), len(self.sizes) * max(self.sizes)), 1)
        chunks = [self._free_tuples(movers[i : i + rows], pattern, n_best) for i in range(0, len(movers), rows)]
        codes, increase, n_free = zip(*chunks, strict=True)
        return np.concatenate(codes), np.concatenate(increase), np.concatenate(n_free)

    def _free_tuples(
        self, movers: Items, pattern: NDArray[np.int64], n_best: int
    ) -> tuple[Codes, NDArray[np.float64], Items]:
        costs = self.costs_of(movers)
        codes, totals = cheapest_tuples(costs, pattern, n_best)
        free = ~contains(self.occupied, id_keys(codes, self.sizes)) & np.isfinite(totals)
        order = np.argsort(~free, axis=1, kind="stable")
        increase = totals - cost_of_tuples(costs, self.codes[movers])[:, None]
        return (
            np.take_along_axis(codes, order[:, :, None], 1),
            np.take_along_axis(increase, order, 1),
            free.sum(axis=1),
        )

    def assign_one_by_one(self, movers: Items, occupied: Keys) -> Codes:
        """For crowds so dense that the sorted lists ran out: movers of one ID go outwards from it in turn."""
        taken, weights = set(occupied.tolist()), weights_of(self.sizes).tolist()
        assigned = np.empty((len(movers), len(self.sizes)), np.int32)
        for crowd in groups(id_keys(self.codes[movers], self.sizes)):
            nearby = by_rising_cost(self.costs_of(movers[crowd[:1]])[0])
            for row in crowd:
                for candidate in nearby:
                    number = sum(code * weight for code, weight in zip(candidate, weights, strict=True)) % 2**64
                    if number not in taken:
                        taken.add(number)
                        assigned[row] = candidate
                        break
        return assigned


def make_unique(codes: Codes, sizes: tuple[int, ...], costs_of: CostsOf, taken: Keys | None = None) -> Codes:
    """Codes without collisions among themselves or with the `taken` keys; there must be room for all of them."""
    keys = id_keys(codes, sizes)
    taken = np.empty(0, np.uint64) if taken is None else np.unique(taken)
    movers = _movers(keys, contains(taken, keys), lambda items: _own_costs(codes, costs_of, items))
    if len(movers) == 0:
        return codes
    staying = np.ones(len(codes), dtype=bool)
    staying[movers] = False
    matcher = TupleMatcher(codes, sizes, costs_of, np.union1d(taken, keys[staying]))
    held, left = matcher.match(movers)
    result = codes.copy()
    result[held.movers] = held.codes
    if len(left):
        result[left] = matcher.assign_one_by_one(left, np.union1d(matcher.occupied, held.keys))
    return result


def _movers(keys: Keys, taken: NDArray[np.bool_], own_costs: Callable[[Items], NDArray[np.float64]]) -> Items:
    """All but the nearest item of each group, and whole groups whose ID is taken already; ascending."""
    _, group, counts = np.unique(keys, return_inverse=True, return_counts=True)
    colliding = np.flatnonzero((counts[group] > 1) | taken)
    ordered = colliding[np.lexsort((colliding, own_costs(colliding), group[colliding]))]
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = group[ordered][1:] != group[ordered][:-1]
    return np.sort(ordered[~first | taken[ordered]])


def _own_costs(codes: Codes, costs_of: CostsOf, items: Items) -> NDArray[np.float64]:
    chunks = [items[i : i + 4_096] for i in range(0, len(items), 4_096)]
    return np.concatenate([np.empty(0), *(cost_of_tuples(costs_of(chunk), codes[chunk]) for chunk in chunks)])


def cost_of_tuples(costs: NDArray[np.float32], codes: Codes) -> NDArray[np.float64]:
    """Summed cost (n,) of one tuple (n, n_codes) per item."""
    chosen = np.take_along_axis(costs, codes[:, :, None].astype(np.int64), axis=2)[:, :, 0]
    total: NDArray[np.float64] = chosen.astype(np.float64).sum(axis=1)
    return total
