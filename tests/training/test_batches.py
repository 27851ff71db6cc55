from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.training.batches import length_groups


def padded(lengths: list[int], groups: list[np.ndarray]) -> int:
    return sum(len(rows) * max(lengths[row] for row in rows) for rows in groups)


def fewest(lengths: list[int], max_groups: int) -> int:
    """Every way to cut the sorted lengths."""
    ordered = sorted(lengths)
    costs = []
    for n_cuts in range(min(max_groups, len(ordered))):
        for cuts in combinations(range(1, len(ordered)), n_cuts):
            edges = [0, *cuts, len(ordered)]
            costs.append(sum((b - a) * ordered[b - 1] for a, b in pairwise(edges)))
    return min(costs)


def test_known_answer():
    groups = length_groups([4, 80, 8, 4, 76], max_groups=2)
    assert [rows.tolist() for rows in groups] == [[0, 2, 3], [1, 4]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=9), st.integers(1, 4))
def test_no_other_cut_pads_less(lengths, max_groups):
    groups = length_groups(lengths, max_groups=max_groups)
    assert len(groups) <= max_groups
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(lengths)))
    assert padded(lengths, groups) == fewest(lengths, max_groups)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 100))
def test_no_group_is_larger_than_allowed(lengths, max_tokens):
    groups = length_groups(lengths, max_tokens)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(lengths)))
    for rows in groups:
        assert len(rows) == 1 or len(rows) * max(lengths[row] for row in rows) <= max_tokens
        assert rows.tolist() == sorted(rows.tolist())


def test_nothing_gives_no_groups():
    assert length_groups([]) == []
