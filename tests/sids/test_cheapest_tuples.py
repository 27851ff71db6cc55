from __future__ import annotations

from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.sids.cheapest_tuples import by_rising_cost, cheapest_tuples, rank_pattern


def every_tuple(costs: np.ndarray, sizes: tuple[int, ...]) -> list[tuple[float, tuple[int, ...]]]:
    options = product(*(range(size) for size in sizes))
    return sorted((sum(float(costs[slot, code]) for slot, code in enumerate(ids)), ids) for ids in options)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple), st.integers(1, 70), st.integers(0, 999))
def test_both_ways_agree_with_sorting_everything(sizes: tuple[int, ...], n_best: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 2**20, (3, len(sizes), max(sizes))).astype(np.float32)
    for slot, size in enumerate(sizes):
        costs[:, slot, size:] = np.inf
    pattern = rank_pattern(n_best, sizes, limit=10_000)
    assert pattern is not None
    codes, totals = cheapest_tuples(costs, pattern, n_best)
    for item in range(3):
        wanted = every_tuple(costs[item], sizes)[:n_best]
        assert totals[item].tolist() == [cost for cost, _ in wanted]
        lazily = list(islice(by_rising_cost(costs[item]), n_best))
        if len({cost for cost, _ in wanted}) == len(wanted):
            assert [tuple(row) for row in codes[item].tolist()] == lazily == [ids for _, ids in wanted]


@pytest.mark.parametrize("n_best", [1, 2, 6])
def test_patterns_are_the_rank_vectors_with_a_small_product(n_best: int) -> None:
    pattern = rank_pattern(n_best, (4, 4), limit=100)
    assert pattern is not None
    wanted = [(a, b) for a in range(4) for b in range(4) if (a + 1) * (b + 1) <= n_best]
    assert sorted(map(tuple, pattern.tolist())) == wanted


def test_too_many_patterns_are_none() -> None:
    assert rank_pattern(64, (256,) * 32, limit=1_000) is None


def test_every_tuple_is_reached_once() -> None:
    costs = np.zeros((3, 3))
    assert sorted(by_rising_cost(costs)) == sorted(product(range(3), repeat=3))
