from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.core.errors import TrainingError
from sidrec.data.histories import Histories
from sidrec.decoding.top_k import first_best, top_items


def slow_top(scores: np.ndarray, banned: set[int], k: int) -> list[int]:
    order = sorted((-score, item) for item, score in enumerate(scores) if item not in banned)
    return ([item for _, item in order] + [-1] * k)[:k]


def test_best_first_and_lower_index_on_ties():
    scores = torch.tensor([[1.0, 3.0, 2.0, 3.0, 2.0]])
    items, values = top_items(lambda rows: scores[rows].clone(), Histories.from_lists([[0]]), 4, n_items=5)
    assert items.tolist() == [[1, 3, 2, 4]]
    assert values.tolist() == [[3.0, 3.0, 2.0, 2.0]]


def test_ranks_without_an_allowed_item_stay_empty():
    allowed = np.array([True, True, False, False])
    items, values = top_items(
        lambda rows: torch.ones(1, 4), Histories.from_lists([[1]]), 3, n_items=4, allowed=allowed, exclude_seen=True
    )
    assert items.tolist() == [[0, -1, -1]]
    assert values.tolist() == [[1.0, -np.inf, -np.inf]]


def test_scores_that_are_not_numbers_are_refused():
    with pytest.raises(TrainingError, match="not numbers"):
        top_items(lambda rows: torch.tensor([[float("nan"), 1.0]]), Histories.from_lists([[0]]), 1, n_items=2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 14), st.sampled_from([1, 20, 10_000]), st.booleans())
def test_equals_sorting_everything(seed: int, k: int, n_items: int, max_cells: int, exclude_seen: bool):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, size=(6, n_items)).astype(np.float32)  # four values only: ties everywhere
    allowed = rng.random(n_items) < 0.7
    histories = Histories.from_lists([rng.integers(0, n_items, rng.integers(0, 5)) for _ in range(6)])
    items, values = top_items(
        lambda rows: torch.from_numpy(scores[rows].copy()),
        histories,
        k,
        n_items=n_items,
        allowed=allowed,
        exclude_seen=exclude_seen,
        max_cells=max_cells,
    )
    for user, seen in enumerate(histories):
        banned = set(np.flatnonzero(~allowed)) | (set(seen.tolist()) if exclude_seen else set())
        expected = slow_top(scores[user], banned, k)
        assert items[user].tolist() == expected
        assert values[user].tolist() == [scores[user, item] if item >= 0 else -np.inf for item in expected]


def test_never_more_cells_than_allowed():
    widths: list[int] = []

    def score_rows(rows: slice) -> torch.Tensor:
        widths.append((rows.stop - rows.start) * 10)
        return torch.zeros(rows.stop - rows.start, 10)

    top_items(score_rows, Histories.from_lists([[0]] * 7), 2, n_items=10, max_cells=30)
    assert widths == [30, 30, 10]


def test_first_best_does_not_mind_minus_infinity():
    values, columns = first_best(torch.tensor([[float("-inf"), 2.0, float("-inf"), 5.0]]), 3)
    assert values.tolist() == [[5.0, 2.0, float("-inf")]]
    assert columns[0, :2].tolist() == [3, 1]
