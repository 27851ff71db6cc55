from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.evaluation.ranks import code_ranks, collision_rate, rank_cases, repeated
from sidrec.evaluation.view import View
from sidrec.models.capabilities import HasSemanticIds
from sidrec.models.popularity import Popularity
from sidrec.models.ranking import Ranking, RankReport
from sidrec.sids.semantic_ids import SemanticIds

NONE = np.zeros(1, dtype=np.int64)


def report(items, codes=None) -> RankReport:
    items = np.asarray(items, dtype=np.int32)
    return RankReport(Ranking(items, np.zeros(items.shape, np.float32)), NONE, NONE, NONE, codes)


def with_ids(codes) -> HasSemanticIds:
    codes = np.asarray(codes, dtype=np.int32)

    class Known(HasSemanticIds):
        semantic_ids = SemanticIds(codes, (9, 9), [str(i) for i in range(len(codes))])

        def use_semantic_ids(self, path, data): ...

    return Known()


def test_code_match_by_hand():
    model = with_ids([[0, 0], [0, 0], [1, 1], [2, 2], [2, 2]])
    ranked = report([[2, 0, 1, 3]] * 4)  # as IDs: 11, 00, 00, 22
    found = code_ranks(model, ranked, np.array([2, 1, 4, 0], dtype=np.int32))
    # item 1 shares its ID with item 0; 00 stands once in the list of IDs, so 22 moves up to the third place
    assert found.tolist() == [0, 1, 2, 1]


def test_invalid_ids_take_places_in_the_generated_list():
    model = with_ids([[0, 0], [1, 1]])
    generated = np.array([[[5, 5], [1, 1], [0, 0]], [[5, 5], [6, 6], [7, 7]]], dtype=np.int32)
    ranked = report([[1, 0, -1], [-1, -1, -1]], generated)
    assert code_ranks(model, ranked, np.array([1, 0], dtype=np.int32)).tolist() == [1, -1]


def test_a_finite_score_without_an_item_is_an_invalid_id_that_keeps_its_place(shop):
    class Unconstrained(Popularity, HasSemanticIds):
        semantic_ids = SemanticIds(np.arange(800).reshape(400, 2).astype(np.int32), (800, 800), ["x"] * 400)

        def use_semantic_ids(self, path, data): ...

        def _rank(self, request, stock):
            histories = request.histories
            items = np.tile(np.array([-1, 5, -1, 3, -1], np.int32), (len(histories), 1))
            scores = np.tile(np.array([0, -1, -2, -3, -np.inf], np.float32), (len(histories), 1))
            return Ranking(items, scores)

    model = Unconstrained().fit(shop)
    cases = replace(shop.cases("test"), targets=np.full(90, 3, dtype=np.int32))
    frame = rank_cases(model, View.of(model, shop), cases, EvaluationSettings(ks=(5,)))
    assert frame.select("rank", "code_rank", "generated", "invalid").unique().rows() == [(3, 3, 4, 2)]


def test_without_ids_code_match_is_item_match():
    ranked = report([[3, 1, 2], [0, 1, -1]])
    assert code_ranks(SimpleNamespace(), ranked, np.array([2, 3], dtype=np.int32)).tolist() == [2, -1]
    assert collision_rate(SimpleNamespace()) == 0.0


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10_000))
def test_code_match_equals_walking_down_the_list(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=(12, 2))
    ranked = np.stack([rng.permutation(12)[:6] for _ in range(5)])
    ranked[0, 4:] = -1
    targets = rng.integers(12, size=5).astype(np.int32)
    slow = []
    for row, target in zip(ranked, targets, strict=True):
        ids = list(dict.fromkeys(tuple(codes[item]) for item in row if item >= 0))
        slow.append(ids.index(tuple(codes[target])) if tuple(codes[target]) in ids else -1)
    assert code_ranks(with_ids(codes), report(ranked), targets).tolist() == slow


def test_repeated_by_hand():
    rows = np.array([[3, 1, 3, 3, 1], [5, 4, 3, 2, 1]])
    assert repeated(rows).tolist() == [[False, False, True, True, True], [False] * 5]


def test_collisions_are_counted_over_the_catalogue():
    assert collision_rate(with_ids([[0, 0], [0, 0], [1, 1], [2, 2]])) == pytest.approx(0.5)


def test_a_row_per_case_with_what_slices_need(shop):
    model, cases = Popularity().fit(shop), shop.cases("test")
    frame = rank_cases(model, View.of(model, shop), cases, EvaluationSettings(exclude_seen=True))
    assert frame["user_id"].to_list() == shop.user_ids.to_list()
    assert frame["target"].to_list() == [shop.catalog.item_ids[int(item)] for item in cases.targets]
    assert frame["history_length"].to_list() == [len(row) - 1 for row in shop.sequences]
    assert frame["target_count"].to_list() == shop.train_counts()[cases.targets].tolist()
    counts = shop.train_counts()
    order = sorted(range(400), key=lambda item: (-counts[item], item))
    for row, history in enumerate(cases.histories):
        left = [item for item in order if item not in history][:10]
        target = int(cases.targets[row])
        assert frame["rank"][row] == (left.index(target) if target in left else -1)
