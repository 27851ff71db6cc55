from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.masked_search import as_predict, hashed_table
from reference.summed_scores import slow_score_all, slow_score_fitting
from sidrec.data.histories import Histories
from sidrec.decoding.diffusion import search
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.results import ranked_items
from sidrec.decoding.score_items import score_all, score_fitting
from sidrec.decoding.search_space import ItemSearchSpace


def setting(seed: int, n_items: int, n_codes: int = 4, size: int = 3):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, size, size=(n_items, n_codes)).astype(np.int32)
    histories = Histories.from_lists([rng.integers(0, n_items, rng.integers(0, n_items)) for _ in range(2)])
    left = [
        {tuple(codes[i].tolist()) for i in range(n_items)} - {tuple(codes[i].tolist()) for i in seen}
        for seen in histories
    ]
    space = ItemSearchSpace(codes, (size,) * n_codes)
    # an ID is gone only when all of its items are seen: show every copy to the user
    seen = [[i for i in range(n_items) if tuple(codes[i].tolist()) not in real] for real in left]
    return space.constraint(Histories.from_lists(seen), exclude_seen=True), left


def rows(result, user):
    found = result.found[user]
    pairs = zip(result.scores[user][found].tolist(), result.codes[user][found].tolist(), strict=True)
    return [(score, tuple(codes)) for score, codes in pairs]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 8), st.sampled_from([1, 20, 10_000]), st.booleans())
def test_score_all_equals_scoring_item_after_item(seed, n_items, k, max_cells, odd):
    n_codes = 3 if odd else 4
    constraint, left = setting(seed, n_items, n_codes)
    table = hashed_table(n_codes, 3, seed)
    result = score_all(as_predict(table, [0, 1]), 2, k, constraint, max_cells=max_cells)
    for user in range(2):
        assert rows(result, user) == slow_score_all(table, user, n_codes, left[user])[:k]


def test_score_all_with_pairs_of_slots_added_first():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, size=(1000, 5)).astype(np.int32)
    constraint = ItemSearchSpace(codes, (4,) * 5).constraint(Histories.from_lists([[]]))
    table = hashed_table(5, 4, 3)
    result = score_all(as_predict(table, [0]), 1, 20, constraint)
    assert len(constraint.index) > 16, "more IDs than pairs of codes"
    assert rows(result, 0) == slow_score_all(table, 0, 5, {tuple(row) for row in codes.tolist()})[:20]


def test_score_all_is_the_one_step_search_without_pruning():
    constraint, _ = setting(5, 30)
    predict = as_predict(hashed_table(4, 3, 5, grain=4096), [0, 1])
    found = search(predict, 2, SearchPlan(n_codes=4, n_steps=1, beam_size=81, k=6), constraint)
    assert torch.equal(found.codes, score_all(predict, 2, 6, constraint).codes)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 3), st.data())
@pytest.mark.slow
def test_score_fitting_equals_scoring_item_after_item(seed, n_items, beam_size, data):
    constraint, left = setting(seed, n_items)
    table = hashed_table(4, 3, seed)
    k = data.draw(st.integers(1, beam_size))
    plan = SearchPlan(n_codes=4, n_steps=4, beam_size=beam_size, k=k)
    result = score_fitting(as_predict(table, [0, 1]), 2, plan, constraint)
    for user in range(2):
        if not left[user]:
            assert rows(result, user) == []
            continue
        expected = slow_score_fitting(table, user, 4, beam_size, left[user])
        got = rows(result, user)
        assert [score for score, _ in got] == sorted(expected.values(), reverse=True)[:k]
        assert all(expected[codes] == score for score, codes in got)
        assert len({codes for _, codes in got}) == len(got)


@pytest.mark.parametrize("few", [0, 64])
def test_score_all_takes_64_codes_with_filters_and_seen_items_and_builds_no_index(few):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, size=(60, 64)).astype(np.int32)
    codes[30:] = codes[:30]
    codes[30:, 40:] = rng.integers(0, 3, size=(30, 24))
    codes[50] = codes[8]  # one ID, two items
    allowed, seen = np.arange(60) % 7 > 0, [[1, 2, 8], []]
    space = ItemSearchSpace(codes, (3,) * 64, few=few)
    constraint = space.constraint(Histories.from_lists(seen), allowed, exclude_seen=True)
    table = hashed_table(64, 3, 1, grain=4)
    result = score_all(as_predict(table, [0, 1]), 2, 12, constraint)
    items, scores = ranked_items(space.index, result, 12, constraint)
    for user in range(2):
        free = [item for item in range(60) if allowed[item] and item not in seen[user]]
        ids = {tuple(codes[item].tolist()) for item in free}
        right = [
            (score, item)
            for score, found in slow_score_all(table, user, 64, ids)
            for item in free
            if tuple(codes[item].tolist()) == found
        ]
        assert list(zip(scores[user].tolist(), items[user].tolist(), strict=True)) == right[:12]
    assert not space.index.is_built and not constraint.index.is_built
