from __future__ import annotations

import numpy as np
import pytest
import torch

from sidrec.data.histories import Histories
from sidrec.decoding.nearest import NearestItems, best_candidates, n_candidates, own_items, within
from sidrec.decoding.top_k import top_items

N_ITEMS, WIDTH = 3000, 9
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(N_ITEMS, WIDTH)).astype(np.float32)
QUERIES = RNG.normal(size=(20, WIDTH)).astype(np.float32)
HISTORIES = Histories.from_lists([RNG.integers(N_ITEMS, size=n % 5 + 1).astype(np.int32) for n in range(20)])


def score(rows: slice, items: torch.Tensor) -> torch.Tensor:
    return torch.bmm(torch.from_numpy(TABLE)[items], torch.from_numpy(QUERIES[rows])[..., None])[..., 0]


def lift(ages: torch.Tensor) -> torch.Tensor:
    """Yesterday's item comes again, older ones never."""
    return torch.where(ages == 1, 50.0, -50.0)


def exact(allowed: np.ndarray, *, exclude_seen: bool, with_bonus: bool) -> tuple[np.ndarray, np.ndarray]:
    def rows_of(rows: slice) -> torch.Tensor:
        scores = torch.from_numpy(QUERIES[rows] @ TABLE.T)
        own, ages = own_items(HISTORIES)
        for row, user in enumerate(range(rows.start, rows.stop)):
            for item, age in zip(own[user], ages[user], strict=True):
                scores[row, item] += float(lift(torch.tensor(age))) if with_bonus and item >= 0 else 0.0
        return scores

    return top_items(rows_of, HISTORIES, 10, n_items=N_ITEMS, allowed=allowed, exclude_seen=exclude_seen)


@pytest.mark.parametrize("exclude_seen", [False, True])
@pytest.mark.parametrize("with_bonus", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_candidates_scored_again_are_the_exact_list(exclude_seen, with_bonus, share):
    allowed = np.random.default_rng(1).random(N_ITEMS) < share
    found = np.argsort(-QUERIES @ TABLE.T, axis=1)[:, :600]
    ways = {"allowed": allowed, "exclude_seen": exclude_seen, "bonus": lift if with_bonus else None}
    items, scores, enough = best_candidates(found, score, HISTORIES, 10, **ways)
    wanted, values = exact(allowed, exclude_seen=exclude_seen, with_bonus=with_bonus)
    assert enough.all()
    np.testing.assert_array_equal(items, wanted)
    np.testing.assert_allclose(scores, values, atol=1e-4)


def test_the_scan_holds_nearly_all_of_the_best():
    found = NearestItems(TABLE).candidates(QUERIES, 300)
    best = np.argsort(-QUERIES @ TABLE.T, axis=1)[:, :10]
    assert found.shape == (20, 300)
    assert np.mean([len(set(row) & set(ten)) for row, ten in zip(found, best, strict=True)]) > 9.5


def test_too_few_candidates_are_said_for_each_user():
    found = np.argsort(-QUERIES @ TABLE.T, axis=1)[:, :100]
    allowed = np.ones(N_ITEMS, dtype=bool)
    allowed[found[3, :20]] = False  # leaves 5 of the first quarter
    allowed[found[4, :10]] = False  # leaves 15
    items, _, enough = best_candidates(
        found[3:5], lambda _, items: torch.zeros(items.shape), HISTORIES.take(np.array([3, 4])), 10,
        allowed=allowed, exclude_seen=True, bonus=None,
    )  # fmt: skip
    assert enough.tolist() == [False, True]
    assert (items >= 0).all() and allowed[items].all()


def test_equal_scores_go_to_the_lower_item():
    found = np.array([[7, 3, 11, 5]])
    items, _, _ = best_candidates(
        found, lambda _, items: torch.zeros(items.shape), Histories.from_lists([np.array([9], np.int32)]), 3,
        allowed=np.ones(20, dtype=bool), exclude_seen=True, bonus=None,
    )  # fmt: skip
    assert items.tolist() == [[3, 5, 7]]


def test_own_items_stand_once_with_their_newest_age():
    own, ages = own_items(Histories.from_lists([np.array(row, np.int32) for row in ([4, 2, 4], [], [1])]))
    assert [dict(zip(*row, strict=True)) for row in zip(own.tolist(), ages.tolist(), strict=True)] == [
        {4: 1, 2: 2}, {-1: 0}, {1: 1, -1: 0},
    ]  # fmt: skip
    assert within(np.array([[2, 3], [4, 2], [1, -1]]), own, 5).tolist() == [[True, False], [False] * 2, [True, False]]


def test_what_is_not_worth_an_index():
    few = np.zeros(1_000_000, dtype=bool)
    few[:1000] = True
    assert n_candidates(10, 1_000_000, None) == 2048
    assert n_candidates(50, 1_000_000, ~few) == 3200
    assert n_candidates(10, 1_000_000, few) is None, "filters leave little: score it all"
    assert n_candidates(1000, 1_000_000, None) is None
    assert n_candidates(10, 2000, None) is None
