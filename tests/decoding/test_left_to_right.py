from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.masked_search import hashed_table, slow_search
from reference.prefix_reader import every_score, predict_by_reading
from sidrec.data.histories import Histories
from sidrec.decoding.diffusion import search
from sidrec.decoding.left_to_right import LeftToRight, parents_of
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.results import ranked_items
from sidrec.decoding.search_space import ItemSearchSpace

SHAPE = (3, 3)


def plan(k: int, beam_size: int, n_codes: int = 3) -> SearchPlan:
    return SearchPlan(n_codes=n_codes, n_steps=n_codes, beam_size=beam_size, order="left-to-right", k=k)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    share=st.sampled_from([0.2, 0.6, 1.0]),
    few=st.sampled_from([0, 64]),
    exclude_seen=st.booleans(),
    filtered=st.booleans(),
)
@pytest.mark.slow
def test_enough_beams_equal_brute_force_under_every_filter(seed, share, few, exclude_seen, filtered):
    """K = 3, M = 3: the ranking of all IDs, less those that a user must not get, and nothing that is no item."""
    rng = np.random.default_rng(seed)
    every = np.array(list(product(range(3), repeat=3)), dtype=np.int32)
    codes = rng.permutation(every[rng.random(27) < share] if share < 1 else every)
    codes = codes if len(codes) else every[:1]
    n_items = len(codes)
    allowed = rng.random(n_items) < 0.6 if filtered else None
    histories = Histories.from_lists([rng.integers(0, n_items, 4), rng.integers(0, n_items, 4)])
    space = ItemSearchSpace(codes, (3, 3, 3), few=few)
    constraint = space.constraint(histories, allowed, exclude_seen)
    table = hashed_table(*SHAPE, seed=seed, grain=1 << 14)
    result = search(predict_by_reading(table, [5, 9], 3), 2, plan(27, 27), constraint)
    items, scores = ranked_items(space.index, result, 27, constraint)
    for row, user in enumerate([5, 9]):
        brute = every_score(table, user, SHAPE)
        open_to_user = np.ones(n_items, bool) if allowed is None else allowed.copy()
        if exclude_seen:
            open_to_user[histories[row]] = False
        wanted = {item: brute[tuple(codes[item])] for item in np.flatnonzero(open_to_user).tolist()}
        found = items[row][items[row] >= 0].tolist()
        assert sorted(found) == sorted(wanted)
        in_order = np.array([wanted[item] for item in found])
        assert np.allclose(scores[row][: len(found)], in_order, atol=1e-5)
        assert (np.diff(in_order) <= 1e-5).all()  # two sums of the same size may come either way round


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    shape=st.sampled_from([(3, 3), (4, 3), (5, 2), (2, 5), (1, 4)]),
    beam_size=st.integers(1, 7),
    share=st.sampled_from([0.1, 0.5]),
    grain=st.sampled_from([64, 2]),
)
@pytest.mark.slow
def test_few_beams_equal_the_literal_search(seed, shape, beam_size, share, grain):
    rng = np.random.default_rng(seed)
    every = np.array(list(product(range(shape[1]), repeat=shape[0])), dtype=np.int32)
    codes = every[rng.random(len(every)) < share]
    codes = codes if len(codes) else every[:1]
    table, real = hashed_table(*shape, seed=seed, grain=grain), set(map(tuple, codes.tolist()))
    space = ItemSearchSpace(codes, (shape[1],) * shape[0])
    asked = plan(beam_size, beam_size, shape[0])
    result = search(predict_by_reading(table, [3, 4], shape[0]), 2, asked, space.index)
    sizes = (beam_size,) * shape[0]
    for row, user in enumerate([3, 4]):
        twin = slow_search(table, user, shape, n_steps=shape[0], beam_sizes=sizes, order="left-to-right", real=real)
        found = result.found[row]
        scored = zip(result.scores[row][found].tolist(), result.codes[row][found].tolist(), strict=True)
        assert [(score, tuple(ids)) for score, ids in scored] == twin


def test_every_code_is_read_once_and_sees_its_own_path():
    asked = []

    def read(codes, slot, sees):
        asked.append((codes.tolist(), slot, sees.int().tolist()))
        return torch.zeros(*codes.shape, 2)

    predict = LeftToRight(torch.zeros(1, 2), read)
    slot = torch.zeros(1, 2, 1, dtype=torch.long)
    assert predict(torch.full((1, 1, 3), -1), slot[:, :1]).shape == (1, 1, 1, 2)
    predict(torch.tensor([[[1, -1, -1], [0, -1, -1]]]), slot + 1)
    predict(torch.tensor([[[0, 1, -1], [1, 1, -1]]]), slot + 2)  # the beams changed places
    assert asked == [
        ([[1, 0]], 0, [[[1, 0], [0, 1]]]),
        ([[1, 1]], 1, [[[0, 1, 1, 0], [1, 0, 0, 1]]]),
    ]


def test_a_dead_beam_has_any_parent():
    before = torch.tensor([[[2, 1], [0, 1]]])
    assert parents_of(torch.tensor([[[0, 1], [2, 1], [1, 1]]]), before, 2).tolist() == [[1, 0, 0]]
