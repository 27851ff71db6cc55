from __future__ import annotations

import torch

from sidrec.data.histories import Histories
from sidrec.nn.repeats import SPEED, RepeatTerm, newest_occurrences, past_around, past_of


def told(items: torch.Tensor, ages: torch.Tensor) -> dict[int, int]:
    return {int(item): int(age) for item, age in zip(items, ages, strict=True) if item >= 0}


def test_the_past_holds_each_item_once_with_its_newest_age():
    items = torch.tensor([[7, 8, 7, 9], [5, 6, -1, -1]])
    real = torch.tensor([[True, True, True, True], [True, True, False, False]])
    past = past_of(items, real)
    assert [told(*row) for row in zip(past.items, past.ages, strict=True)] == [
        {7: 1},
        {8: 1, 7: 2},
        {7: 1, 8: 2},
        {9: 1, 7: 2, 8: 3},
        {5: 1},
        {6: 1, 5: 2},
    ]


def test_a_hidden_place_sees_the_nearest_copy_on_either_side():
    items = torch.tensor([[7, -1, 8, 7, -1]])
    wanted = torch.tensor([[False, True, False, False, True]])
    past = past_around(items, wanted)
    assert [told(*row) for row in zip(past.items, past.ages, strict=True)] == [{7: 1, 8: 1}, {7: 1, 8: 2}]


def test_newest_occurrences_of_whole_histories():
    users, items, ages = newest_occurrences(Histories.from_lists([[3, 4, 3], [], [4]]))
    assert list(zip(users.tolist(), items.tolist(), ages.tolist(), strict=True)) == [(0, 3, 1), (0, 4, 2), (2, 4, 1)]


def test_ages_fall_into_buckets():
    term = RepeatTerm("by-age")
    term.rho.data = torch.arange(6.0)
    found = term(torch.tensor([1, 2, 3, 4, 5, 8, 9, 16, 17, 400])) / SPEED
    assert found.tolist() == [0, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    once = RepeatTerm("once")
    once.rho.data = torch.tensor([2.0])
    assert once(torch.tensor([1, 50])).tolist() == [2 * SPEED] * 2


def test_scores_of_the_history_are_moved_and_no_others():
    term = RepeatTerm("by-age")
    term.rho.data = torch.tensor([1.0, 2.0, 0, 0, 0, 0])
    terms, scores = term.for_users(Histories.from_lists([[3, 4, 3], [], [0]])), torch.zeros(3, 5)
    terms.add_to(scores[:1], slice(0, 1))
    terms.add_to(scores[1:], slice(1, 3))
    assert (scores / SPEED).tolist() == [[0, 0, 0, 1, 2], [0] * 5, [1, 0, 0, 0, 0]]


def test_wanted_items_and_the_whole_past_agree():
    term = RepeatTerm("by-age")
    term.rho.data = torch.arange(1.0, 7.0)
    past = past_of(torch.tensor([[7, 8, 7]]), torch.tensor([[False, False, True]]))
    assert (term.of_items(past, torch.tensor([[8, 7, 9]])) / SPEED).tolist() == [[2, 1, 0]]
