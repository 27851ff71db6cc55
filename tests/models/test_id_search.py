"""Generation around the search: grouping by length, duplicates, and lists shorter than asked."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from sidrec.core.errors import SettingsError
from sidrec.data.histories import Histories
from sidrec.decoding.search_space import ItemSearchSpace
from sidrec.models.id_search import Ask, IdSearch, LeftToRightSearch, SearchSettings, distinct
from sidrec.models.request import Request

CODES = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 2], [2, 2]], dtype=np.int32)  # the last two share an ID


class Table:
    """Log-probabilities that depend on the history's length alone; remembers who asked."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []

    def __call__(self, ask: Ask):
        self.asked.append(ask)
        generator = torch.Generator().manual_seed(ask.items.shape[1])
        table = torch.rand(2, 3, generator=generator).log_softmax(-1)
        return lambda codes, slots: table[slots]


def searcher(table: Table | None = None, users_at_once: int = 64, **search: object) -> IdSearch:
    return IdSearch(ItemSearchSpace(CODES, (3, 3)), SearchSettings(**search), table or Table(), 3, users_at_once)


def test_users_are_grouped_by_cut_length_and_their_ids_go_along() -> None:
    table = Table()
    histories = Histories.from_lists([[0], [1, 2, 3, 4], [5], [0, 1, 2]])
    searcher(table).rank(Request(histories, 2, users=["u", "v", "w", "x"]))
    assert [ask.items.tolist() for ask in table.asked] == [[[0], [5]], [[2, 3, 4], [0, 1, 2]]]
    assert [ask.users for ask in table.asked] == [("u", "w"), ("v", "x")]


def test_no_more_users_at_once_than_agreed() -> None:
    table = Table()
    searcher(table, users_at_once=2).rank(Request(Histories.from_lists([[0], [1], [2], [3], [4]]), 2))
    assert [ask.items.tolist() for ask in table.asked] == [[[0], [1]], [[2], [3]], [[4]]]
    assert table.asked[0].users is None


def test_many_results_are_searched_for_fewer_users_at_once() -> None:
    table = Table()
    searcher(table, users_at_once=4, beam_size=10).rank(Request(Histories.from_lists([[0], [1], [2], [3]]), 20))
    assert [len(ask.items) for ask in table.asked] == [2, 2]


def test_greedy_search_has_one_answer_whatever_is_asked_so_users_stay_together() -> None:
    table = Table()
    searcher(table, users_at_once=4, beam_size=1).rank(Request(Histories.from_lists([[0], [1], [2], [3]]), 20))
    assert [len(ask.items) for ask in table.asked] == [4]


def test_items_that_share_an_id_follow_each_other() -> None:
    ranking = searcher().rank(Request(Histories.from_lists([[0, 1]]), 6))
    order = ranking.items[0].tolist()
    assert sorted(order) == [0, 1, 2, 3, 4, 5]
    assert order.index(5) == order.index(4) + 1
    assert ranking.scores[0, order.index(4)] == ranking.scores[0, order.index(5)]


def test_more_asked_than_there_is() -> None:
    ranking = searcher().rank(Request(Histories.from_lists([[0], [1, 2]]), 9, exclude_seen=True))
    assert (ranking.items >= 0).sum(1).tolist() == [5, 4]
    assert np.isneginf(ranking.scores[ranking.items < 0]).all()


def test_one_beam_is_greedy_and_has_one_answer() -> None:
    ranking = searcher(beam_size=1).rank(Request(Histories.from_lists([[0]]), 3))
    assert (ranking.items >= 0).sum() in (1, 2)  # two where the one ID is shared by two items


class Counted(Table):
    """Counts how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def __call__(self, ask: Ask):
        predict = super().__call__(ask)

        def counted(codes, slots):
            self.times += 1
            return predict(codes, slots)

        return counted


def test_dear_beams_are_asked_one_after_the_other_unless_told_otherwise(monkeypatch) -> None:
    monkeypatch.setattr("sidrec.models.id_search.LAZY_BLOCK", 1)
    found = {}
    for lazy, dear in itertools.product((None, False, True), (False, True)):
        table = Counted()
        one = replace(searcher(table, lazy=lazy, beam_size=3), dear_beams=dear)
        found[lazy, dear] = (one.rank(Request(Histories.from_lists([[0]]), 1)).items.tolist(), table.times)
    assert len({str(items) for items, _ in found.values()}) == 1
    asked = {how: times for how, (_, times) in found.items()}
    assert asked[None, False] == asked[False, False] == asked[False, True] == 2
    assert asked[None, True] == asked[True, False] == asked[True, True] == 4


def test_a_plan_that_cannot_run_is_refused() -> None:
    with pytest.raises(SettingsError, match="n_steps is 3, choose 1 to 2"):
        SearchSettings(n_steps=3).plan(10, 2)
    with pytest.raises(SettingsError, match="narrowing names 1 beam sizes for 2 steps"):
        SearchSettings(narrowing=(20,)).plan(10, 2)


def test_only_a_beam_search_has_steps() -> None:
    with pytest.raises(SettingsError, match="score-all, which has no steps to explain"):
        searcher(method="score-all").explain(Request(Histories.from_lists([[0]])))


def test_distinct_ids_are_counted() -> None:
    codes = np.array([[[1, 2], [1, 2], [-1, -1]], [[1, 2], [2, 1], [0, 0]]], dtype=np.int32)
    assert distinct(codes).tolist() == [1, 3]
    many = np.random.default_rng(0).integers(-1, 9, size=(5, 300, 3), dtype=np.int32)
    assert distinct(many).tolist() == [len({tuple(row) for row in user if row[0] >= 0}) for user in many.tolist()]


def test_a_left_to_right_search_has_one_order_and_only_real_items() -> None:
    plan = LeftToRightSearch(beam_size=7).plan(3, 4)
    assert (plan.order, plan.n_steps, plan.beam_size, plan.lazy_block) == ("left-to-right", 4, 7, 0)
    for name, value in {"order": "adaptive", "n_steps": 2, "only_real_items": False, "method": "score-all"}.items():
        with pytest.raises(SettingsError, match=name):
            LeftToRightSearch.parse({name: value}, owner="search")
