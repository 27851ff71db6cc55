from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch

from sidrec.sids.code_groups import even_groups, partners


def test_two_clumps_are_two_groups_and_a_crowd_has_to_part() -> None:
    clumps = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]], np.float32)
    groups = even_groups(clumps, 2)
    assert len(set(groups[:3])) == len(set(groups[3:])) == 1 and groups[0] != groups[3]
    crowd = np.array([[0.0], [0.1], [0.2], [0.3], [0.4], [9.0]], np.float32)
    assert sorted(np.bincount(even_groups(crowd, 2)).tolist()) == [3, 3]
    assert even_groups(crowd, 2)[4] == even_groups(crowd, 2)[5]  # the nearest of the crowd joins the lone one


def test_the_assignment_is_the_cheapest_of_all() -> None:
    """The slow twin tries every way to put six points into the two groups' places."""
    points = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    groups = even_groups(points, 2)
    centres = np.stack([points[groups == group].mean(0) for group in range(2)])
    costs = ((points[:, None] - centres) ** 2).sum(-1)
    ways = {tuple(np.array([0, 1, 0, 1, 0, 1])[list(order)]) for order in permutations(range(6))}
    cheapest = min(sum(costs[point, group] for point, group in enumerate(way)) for way in ways)
    assert costs[np.arange(6), groups].sum() == pytest.approx(cheapest)


@pytest.mark.parametrize(
    ("n", "n_groups", "sizes"), [(256, 10, {25, 26}), (7, 10, {2, 3}), (1, 4, {1}), (8, 3, {2, 3})]
)
def test_groups_are_even_and_at_least_pairs(n: int, n_groups: int, sizes: set[int]) -> None:
    points = np.random.default_rng(1).normal(size=(n, 4)).astype(np.float32)
    assert set(np.bincount(even_groups(points, n_groups)).tolist()) <= sizes


def test_a_partner_is_another_code_of_the_group() -> None:
    groups = torch.tensor([[0, 0, 1, 1, 1, 2], [1, 0, 0, 1, -1, -1]])
    codes = torch.tensor([[0, 0], [2, 1], [5, 3], [4, 2]])
    for draw in (0.0, 0.4, 0.6, 0.999):
        found = partners(groups, codes, torch.full((4, 2), draw))
        assert found[0].tolist() == [1, 3] and found[1, 1] == 2 and found[2].tolist() == [5, 0] and found[3, 1] == 1
        assert found[1, 0] in (3, 4) and found[3, 0] in (2, 3)
    draws = torch.rand(400, 1, generator=torch.Generator().manual_seed(0))
    chosen = partners(groups[:1], torch.full((400, 1), 2), draws)
    assert 150 < int((chosen == 3).sum()) < 250
