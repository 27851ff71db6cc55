from __future__ import annotations

import numpy as np
import torch

from sidrec.data.histories import Histories
from sidrec.decoding.graph_walk import Pool, WalkPlan, best_of, doors_of, summed, walk
from sidrec.decoding.item_graph import ItemGraph
from sidrec.decoding.permits import Permits

NEVER = -torch.inf


def line(n: int) -> ItemGraph:
    """Items in a row, one digit: item i has code i and leads to its two neighbours; the only door is item 0."""
    numbers = torch.arange(n)
    neighbours = torch.stack([(numbers - 1).clamp_min(0), (numbers + 1).clamp_max(n - 1)], 1)
    doors = torch.full((1, n, 1), 0)
    return ItemGraph(numbers[:, None], neighbours, doors)


def uphill(n: int) -> torch.Tensor:
    return torch.arange(n, dtype=torch.float32).view(1, 1, n) - n


def test_a_walk_climbs_to_the_best_item_and_stops_there():
    items, scores = walk(uphill(9), line(9), WalkPlan(k=3, beam_size=3, n_steps=50, expanded=1, likely_codes=1))
    assert items.tolist() == [[8, 7, 6]]
    assert scores.tolist() == [[-1.0, -2.0, -3.0]]


def test_a_walk_goes_no_further_than_its_steps():
    items, _ = walk(uphill(9), line(9), WalkPlan(k=4, beam_size=4, n_steps=2, expanded=1, likely_codes=1))
    assert items.tolist() == [[2, 1, 0, -1]]


def test_items_that_are_not_permitted_are_walked_through_and_never_returned():
    allowed = np.array([True, True, False, False, True, True, True, True, False])
    permits = Permits.of(9, Histories.from_lists([np.array([7])]), allowed, exclude_seen=True)
    plan = WalkPlan(k=3, beam_size=3, n_steps=50, expanded=1, likely_codes=1)
    assert walk(uphill(9), line(9), plan, permits)[0].tolist() == [[6, 5, 4]]
    assert best_of(uphill(9), line(9), torch.tensor([0, 1, 4, 7]), 5, permits)[0].tolist() == [[4, 1, 0, -1, -1]]


def test_a_pool_keeps_each_item_once_and_knows_what_is_open():
    first = torch.tensor([[4, 2, -1, 9]]), torch.tensor([[1.0, 3.0, 8.0, 2.0]])
    pool = Pool.empty(1, first[1]).joined(*first, width=3)
    assert pool.items.tolist() == [[2, 9, 4]] and pool.open.all()
    chosen, pool = pool.expand(2)
    assert chosen.tolist() == [[2, 9]] and pool.open.tolist() == [[False, False, True]]
    pool = pool.joined(torch.tensor([[2, 5]]), torch.tensor([[3.0, 2.0]]), width=3)
    assert pool.items.tolist() == [[2, 5, 9]]  # a tie goes to the lower item
    assert pool.open.tolist() == [[False, True, False]]
    assert pool.first(4)[0].tolist() == [[2, 5, 9, -1]]
    assert pool.first(4)[1].tolist() == [[3.0, 2.0, 2.0, NEVER]]


def test_a_walk_begins_behind_the_likeliest_codes():
    graph = ItemGraph(torch.zeros(1, 2).long(), torch.zeros(1, 1).long(), torch.arange(12).view(2, 3, 2))
    log_probs = torch.tensor([[[0.1, 0.5, 0.2], [0.9, 0.3, 0.4]]])
    assert doors_of(log_probs, graph, 1).tolist() == [[2, 3, 6, 7]]


def test_a_score_is_the_sum_over_the_digits():
    log_probs = torch.tensor([[[1.0, 2.0], [10.0, 20.0]]])
    assert summed(log_probs, torch.tensor([[[0, 0], [1, 0], [1, 1]]])).tolist() == [[11.0, 12.0, 22.0]]


def test_the_company_changes_nothing():
    torch.manual_seed(0)
    codes, vectors = torch.randint(6, (200, 5)), torch.nn.functional.normalize(torch.randn(5, 6, 8), dim=-1)
    graph = ItemGraph.build(codes, vectors, n_edges=6, n_doors=2)
    log_probs, plan = torch.randn(7, 5, 6).log_softmax(-1), WalkPlan(5, 8, 6, 3, 2)
    together = walk(log_probs, graph, plan)
    for user in range(7):
        alone = walk(log_probs[user : user + 1], graph, plan)
        assert alone[0].tolist() == together[0][user : user + 1].tolist()
