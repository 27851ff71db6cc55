from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sidrec.data.dataset import Cases
from sidrec.data.histories import Histories
from sidrec.models.item_objective import CausalNetwork, NextItemObjective, mean_ndcg, user_queries
from sidrec.models.samples import Samples
from sidrec.nn.item_vectors import ItemVectors
from sidrec.training.objective import Batch

SEQUENCES = Histories.from_lists([[0, 1, 2, 3], [4], [], [5, 6]])
NO_CASES = Cases(np.empty(0, np.int64), Histories.from_lists([]), np.empty(0, np.int32))


class Sums(CausalNetwork):
    """The vector at t is the sum of the item vectors up to t."""

    def __init__(self, n_items: int = 7) -> None:
        super().__init__()
        self.items = ItemVectors(n_items, n_items)
        nn.init.eye_(self.items.weight)

    def hidden(self, items: Tensor) -> Tensor:
        return self.items(items).cumsum(1)


def objective() -> NextItemObjective[Sums]:
    return NextItemObjective(Samples.windows(SEQUENCES, 5), NO_CASES, 5)


def step_loss(mine: slice) -> float:
    batch = Batch(np.array([0, 1]), mine, torch.Generator(), epoch=0, step=0)
    return sum(float(part.total.detach()) for part in objective().parts(Sums(), batch))


def test_the_step_is_the_mean_over_all_positions():
    def cost(summed: dict[int, float], target: int) -> float:
        scores = np.zeros(7)
        for item, value in summed.items():
            scores[item] = value
        return float(np.log(np.exp(scores).sum()) - scores[target])

    by_hand = cost({0: 1}, 1) + cost({0: 1, 1: 1}, 2) + cost({0: 1, 1: 1, 2: 1}, 3) + cost({5: 1}, 6)
    assert step_loss(slice(0, 2)) == pytest.approx(by_hand / 4, rel=1e-5)


def test_processes_share_a_step():
    assert step_loss(slice(0, 1)) + step_loss(slice(1, 2)) == pytest.approx(step_loss(slice(0, 2)), rel=1e-6)


def test_queries_do_not_depend_on_company():
    histories = Histories.from_lists([[0, 1, 2, 3], [4], [1, 1], [5]])
    together = user_queries(Sums(), histories, max_history=3, max_rows=1)
    assert together[0].tolist() == [0, 1, 1, 1, 0, 0, 0]  # the oldest item is beyond max_history
    assert together[2].tolist() == [0, 2, 0, 0, 0, 0, 0]
    for row in range(4):
        alone = user_queries(Sums(), histories.take(np.array([row])), max_history=3)
        assert torch.equal(alone[0], together[row])


def cases(targets: list[int]) -> Cases:
    return Cases(np.arange(2), Histories.from_lists([[0, 0, 1], [2]]), np.array(targets, dtype=np.int32))


def test_ndcg_by_hand():
    assert mean_ndcg(Sums(), cases([0, 2]), 5) == pytest.approx(1.0)
    assert mean_ndcg(Sums(), cases([1, 2]), 5) == pytest.approx((1 / np.log2(3) + 1) / 2)


def test_ties_and_broken_scores_earn_nothing():
    flat = Sums(n_items=20)
    with torch.no_grad():
        flat.items.weight.zero_()
    assert mean_ndcg(flat, cases([0, 2]), 5) == 0
    with torch.no_grad():
        flat.items.weight.fill_(torch.nan)
    assert mean_ndcg(flat, cases([0, 2]), 5) == 0


def test_nothing_is_validated_without_cases():
    assert objective().validate(Sums()) == {}
