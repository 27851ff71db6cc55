from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.fitting_items import random_beams, slow_fitting, slow_valid
from reference.masked_search import as_predict, hashed_table, slow_search
from sidrec.data.histories import Histories
from sidrec.decoding.diffusion import search
from sidrec.decoding.order import masked_slots
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.results import ranked_items
from sidrec.decoding.search_space import ItemSearchSpace

SIZES = (3, 4, 2, 3)


def random_request(seed: int, n_items: int, n_users: int) -> tuple[np.ndarray, Histories, np.ndarray]:
    """Codes (some IDs shared), histories (items may repeat), and a mask of allowed items."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, SIZES, size=(n_items, len(SIZES))).astype(np.int32)
    codes[rng.random(n_items) < 0.3] = codes[0]
    histories = Histories.from_lists([rng.integers(0, n_items, rng.integers(0, n_items)) for _ in range(n_users)])
    return codes, histories, rng.random(n_items) < rng.choice([0.2, 0.8, 1.0])


def blocked_for(seen: np.ndarray, allowed: np.ndarray | None, exclude_seen: bool) -> set[int]:
    denied = set() if allowed is None else set(np.flatnonzero(~allowed).tolist())
    return denied | (set(seen.tolist()) if exclude_seen else set())


requests = given(
    seed=st.integers(0, 100_000),
    n_items=st.integers(1, 40),
    masked=st.booleans(),
    exclude_seen=st.booleans(),
    few=st.sampled_from([0, 64]),
    data=st.data(),
)


@settings(max_examples=60, deadline=None)
@requests
@pytest.mark.slow
def test_valid_codes_equal_looking_at_every_item(seed, n_items, masked, exclude_seen, few, data):
    codes, histories, allowed = random_request(seed, n_items, n_users=2)
    mask = allowed if masked else None
    constraint = ItemSearchSpace(codes, SIZES, few=few).constraint(histories, mask, exclude_seen)
    rng, n_filled = np.random.default_rng(seed), data.draw(st.integers(0, 3))
    beams = torch.from_numpy(random_beams(rng, codes, 6, n_filled)).view(2, 3, -1)
    slots = masked_slots(beams)
    valid, count = constraint.valid(beams, slots), constraint.count(beams)
    for user, seen in enumerate(histories):
        blocked = blocked_for(seen, mask, exclude_seen)
        for beam in range(3):
            row = beams[user, beam].tolist()
            fitting = slow_fitting(codes, row, blocked)
            assert constraint.items_that_fit(beams[user, beam], user).tolist() == fitting
            assert int(count[user, beam]) == len({tuple(codes[item]) for item in fitting})
            for column, slot in enumerate(slots[user, beam].tolist()):
                assert valid[user, beam, column].tolist() == slow_valid(codes, row, slot, 4, blocked)


@settings(max_examples=60, deadline=None)
@requests
@pytest.mark.slow
def test_k_results_come_back_whenever_k_allowed_items_exist(seed, n_items, masked, exclude_seen, few, data):
    codes, histories, allowed = random_request(seed, n_items, n_users=3)
    mask = allowed if masked else None
    space = ItemSearchSpace(codes, SIZES, few=few)
    constraint = space.constraint(histories, mask, exclude_seen)
    n_steps, k = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 6))
    table, plan = hashed_table(4, 4, seed), SearchPlan(n_codes=4, n_steps=n_steps, beam_size=k, k=k)
    result = search(as_predict(table, range(3)), 3, plan, constraint)
    items, scores = ranked_items(space.index, result, k, constraint)
    for user, seen in enumerate(histories):
        blocked = blocked_for(seen, mask, exclude_seen)
        free = [item for item in range(n_items) if item not in blocked]
        got = items[user][items[user] >= 0].tolist()
        assert len(set(got)) == len(got) == min(k, len(free))
        assert not set(got) & blocked
        assert (np.diff(scores[user][: len(got)]) <= 0).all()
        real = {tuple(codes[item].tolist()) for item in free}
        best = slow_search(table, user, (4, 4), n_steps=n_steps, beam_sizes=(k,) * n_steps, order="adaptive", real=real)
        expected = [item for _, found in best for item in free if tuple(codes[item].tolist()) == found]
        assert got == expected[:k], "shared IDs give all their items, lower index first"


def test_an_id_stays_while_one_of_its_items_is_free():
    space = ItemSearchSpace(np.array([[0, 0], [0, 0], [1, 1]], dtype=np.int32), (2, 2))
    beams = torch.full((2, 1, 2), -1)
    constraint = space.constraint(Histories.from_lists([[0], [0, 1]]), exclude_seen=True)
    first_slot = constraint.valid(beams, torch.zeros(2, 1, 1, dtype=torch.long))[:, 0, 0]
    assert first_slot.tolist() == [[True, True], [False, True]]


def test_the_last_indexes_of_allowed_items_are_kept():
    rng = np.random.default_rng(0)
    space = ItemSearchSpace(rng.integers(0, 3, (20, 2)).astype(np.int32), (3, 3), kept_indexes=2, few=0)
    masks = [np.arange(20) < size for size in (5, 9, 13)]
    nobody = Histories.from_lists([[]])
    first = space.constraint(nobody, masks[0]).index
    assert space.constraint(nobody, masks[0].copy()).index is first
    for mask in masks[1:]:
        space.constraint(nobody, mask)
    assert space.constraint(nobody, masks[0]).index is not first, "only two are kept"
    assert space.constraint(nobody, np.ones(20, dtype=bool)).index is space.index
