from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.masked_search import as_predict, enumerate_all, hashed_table, of_asked_slots, slow_search
from sidrec.decoding.beam import Beams
from sidrec.decoding.diffusion import SearchResult, Stepper, search
from sidrec.decoding.item_index.index import ItemIndex
from sidrec.decoding.plan import SearchPlan

ORDERS = ["adaptive", "left-to-right", "right-to-left"]
SHAPE = (3, 3)


def random_ids(n_codes: int, codebook_size: int, share: float, seed: int) -> set[tuple[int, ...]]:
    rng = np.random.default_rng(seed)
    every = list(product(range(codebook_size), repeat=n_codes))
    return {codes for codes in every if rng.random() < share} or {every[0]}


def index_of(real: set[tuple[int, ...]] | None, shape: tuple[int, int], table_bytes: int = 1 << 20) -> ItemIndex | None:
    if real is None:
        return None
    return ItemIndex(np.array(sorted(real)), (shape[1],) * shape[0], table_bytes=table_bytes)


def ranked(result: SearchResult, user: int = 0) -> list[tuple[float, tuple[int, ...]]]:
    found = result.found[user]
    rows = zip(result.scores[user][found].tolist(), result.codes[user][found].tolist(), strict=True)
    return [(score, tuple(codes)) for score, codes in rows]


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("n_steps", [1, 2, 3])
@pytest.mark.parametrize("order", ORDERS)
def test_all_beams_equal_enumeration(order, n_steps, constrained):
    table = hashed_table(*SHAPE, seed=7)
    real = random_ids(*SHAPE, share=0.5, seed=1) if constrained else None
    plan = SearchPlan(n_codes=3, n_steps=n_steps, beam_size=27, order=order, k=27)
    result = search(as_predict(table, [0]), 1, plan, index_of(real, SHAPE))
    expected = enumerate_all(table, 0, SHAPE, n_steps=n_steps, order=order, real=real)
    assert {codes: score for score, codes in ranked(result)} == expected
    assert [score for score, _ in ranked(result)] == sorted(expected.values(), reverse=True)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    shape=st.sampled_from([(3, 3), (4, 3), (5, 2), (2, 5)]),
    order=st.sampled_from(ORDERS),
    beam_size=st.integers(1, 7),
    share=st.sampled_from([0.1, 0.5, None]),
    grain=st.sampled_from([64, 2]),
    table_bytes=st.sampled_from([0, 1 << 20]),
    lazy_block=st.integers(0, 3),
    data=st.data(),
)
@pytest.mark.slow
def test_few_beams_equal_the_literal_search(seed, shape, order, beam_size, share, grain, table_bytes, lazy_block, data):
    n_steps = data.draw(st.integers(1, shape[0]))
    k = data.draw(st.integers(1, beam_size))
    table = hashed_table(*shape, seed=seed, grain=grain)
    real = None if share is None else random_ids(*shape, share=share, seed=seed)
    plan = SearchPlan(n_codes=shape[0], n_steps=n_steps, beam_size=beam_size, order=order, k=k, lazy_block=lazy_block)
    result = search(as_predict(table, [5, 9]), 2, plan, index_of(real, shape, table_bytes))
    for row, user in enumerate([5, 9]):
        expected = slow_search(
            table, user, shape, n_steps=n_steps, beam_sizes=(beam_size,) * n_steps, order=order, real=real
        )
        assert ranked(result, row) == expected[:k]
        found = [codes for _, codes in ranked(result, row)]
        assert len(set(found)) == len(found), "an ID came back twice"
        if real is not None:
            assert set(found) <= real
            assert len(found) == min(k, len(real)), "fewer results than items"
    assert (result.codes[~result.found] == -1).all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_steps=st.integers(1, 4))
def test_narrowing_beams_equal_the_literal_search(seed, n_steps):
    shape, sizes = (4, 3), (6, 5, 4, 3)[:n_steps]
    table, real = hashed_table(*shape, seed=seed), random_ids(*shape, share=0.4, seed=seed)
    plan = SearchPlan(n_codes=4, n_steps=n_steps, narrowing=sizes, k=3)
    result = search(as_predict(table, [0]), 1, plan, index_of(real, shape))
    expected = slow_search(table, 0, shape, n_steps=n_steps, beam_sizes=sizes, order="adaptive", real=real)
    assert ranked(result) == expected[:3]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_steps=st.integers(1, 3), lazy_block=st.sampled_from([0, 2]))
def test_confidence_over_all_codes_equals_the_literal_search(seed, n_steps, lazy_block):
    shape = (3, 3)
    table, real = hashed_table(*shape, seed=seed), random_ids(*shape, share=0.3, seed=seed)
    plan = SearchPlan(n_codes=3, n_steps=n_steps, beam_size=4, k=4, confidence="all", lazy_block=lazy_block)
    result = search(as_predict(table, [0]), 1, plan, index_of(real, shape))
    sizes, order = (4,) * n_steps, "adaptive, all codes"
    assert ranked(result) == slow_search(table, 0, shape, n_steps=n_steps, beam_sizes=sizes, order=order, real=real)[:4]


def test_the_surest_slot_by_all_codes_is_another_one_than_by_valid_codes():
    """Slot 0 is surest of a code that no item has; among codes of items slot 1 is."""
    told = torch.tensor([[0.9, 0.05, 0.05], [0.2, 0.7, 0.1]]).log()

    def predict(codes, slots):
        return told[slots]

    index = index_of({(1, 1), (2, 0)}, (2, 3))
    for confidence, first in (("all", 0), ("valid", 1)):
        plan = SearchPlan(n_codes=2, n_steps=2, beam_size=2, k=2, confidence=confidence)
        result = search(predict, 1, plan, index, trace=True)
        assert result.trace is not None
        assert int(result.trace.steps[0].chosen[0, 0, 0]) == first


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000), users=st.lists(st.integers(0, 6), min_size=1, max_size=5), n_steps=st.integers(1, 4)
)
@pytest.mark.slow
def test_a_user_gets_the_same_in_any_company(seed, users, n_steps):
    shape = (4, 3)
    table = hashed_table(*shape, seed=seed, grain=2)
    index = index_of(random_ids(*shape, share=0.3, seed=seed), shape)
    plan = SearchPlan(n_codes=4, n_steps=n_steps, beam_size=5, k=5)
    together = search(as_predict(table, users), len(users), plan, index)
    for row, user in enumerate(users):
        alone = search(as_predict(table, [user]), 1, plan, index)
        assert ranked(together, row) == ranked(alone)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_steps=st.integers(2, 4))
def test_the_order_of_the_beams_does_not_matter(seed, n_steps):
    shape = (4, 3)
    index = index_of(random_ids(*shape, share=0.6, seed=seed), shape)
    table = as_predict(hashed_table(*shape, seed=seed, grain=1 << 14), [0, 1])  # so fine that nothing ties
    stepper = Stepper(table, SearchPlan(n_codes=4, n_steps=n_steps, beam_size=5, k=5), index)
    beams = stepper.advance(Beams.start(2, 4), 0)
    rng = np.random.default_rng(seed)
    shuffled = beams.take(torch.from_numpy(np.stack([rng.permutation(len(beams)) for _ in range(2)])))
    one, other = stepper.advance(beams, 1), stepper.advance(shuffled, 1)
    assert torch.equal(one.scores, other.scores)
    live = one.scores > float("-inf")
    assert torch.equal(one.codes[live], other.codes[live])


def test_the_surest_slot_is_filled_first_and_its_logits_travel_with_the_beam():
    """By hand: M=3, K=2, T=2, so step 1 fills one slot, step 2 two. Slot 2 is the surest at first."""
    first = torch.tensor([[0.5, 0.5], [0.6, 0.4], [0.9, 0.1]]).log()
    after_0 = torch.tensor([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]).log()  # slot 2 holds code 0: slot 1 next (0.8)
    after_1 = torch.tensor([[0.99, 0.01], [0.5, 0.5], [0.5, 0.5]]).log()  # slot 2 holds code 1: slot 0 next

    @of_asked_slots
    def predict(codes: torch.Tensor) -> torch.Tensor:
        table = {(-1, -1, -1): first, (-1, -1, 0): after_0, (-1, -1, 1): after_1}
        return torch.stack([torch.stack([table[tuple(beam)] for beam in beams]) for beams in codes.tolist()])

    result = search(predict, 1, SearchPlan(n_codes=3, n_steps=2, beam_size=8, k=3))
    assert result.codes[0].tolist() == [[0, 1, 0], [1, 1, 0], [0, 0, 0]]
    expected = torch.tensor([0.9 * 0.8 * 0.7, 0.9 * 0.8 * 0.3, 0.9 * 0.2 * 0.7]).log()
    assert torch.allclose(result.scores[0], expected)


def asked_by(**plan: object) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """The shapes of the asked slots, step by step, and which slots they are."""
    shapes, slots_of_steps = [], []
    table = as_predict(hashed_table(3, 3, seed=0), [0, 1])

    def predict(codes: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        shapes.append(tuple(slots.shape))
        slots_of_steps.append(slots.unique().tolist())
        return table(codes, slots)

    search(predict, 2, SearchPlan(n_codes=3, beam_size=5, k=5, **plan))
    return shapes, slots_of_steps


def test_step_one_is_asked_once_per_user_and_filled_slots_never():
    assert asked_by(n_steps=3)[0] == [(2, 1, 3), (2, 3, 2), (2, 5, 1)]


def test_a_fixed_order_asks_for_the_next_slots_only():
    assert asked_by(n_steps=3, order="left-to-right")[1] == [[0], [1], [2]]
    assert asked_by(n_steps=3, order="right-to-left")[1] == [[2], [1], [0]]
    assert asked_by(n_steps=2, order="left-to-right") == ([(2, 1, 1), (2, 3, 2)], [[0], [1, 2]])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    sharpness=st.sampled_from([2, 4, 6]),
    grain=st.sampled_from([64, 2]),
    lazy_block=st.integers(1, 4),
    n_steps=st.integers(2, 4),
    k=st.integers(1, 4),
)
@pytest.mark.slow
def test_lazy_expansion_stops_only_when_the_rest_cannot_matter(seed, sharpness, grain, lazy_block, n_steps, k):
    predict = as_predict(hashed_table(4, 6, seed, grain, sharpness), [0])
    plan = SearchPlan(n_codes=4, n_steps=n_steps, beam_size=10, k=k)
    eager = search(predict, 1, plan)
    lazy = search(predict, 1, replace(plan, lazy_block=lazy_block))
    assert ranked(lazy) == ranked(eager)


def test_a_second_parent_with_a_surer_child_is_asked():
    """By hand: 0.40 * 0.80 < 0.35 * 0.98, so the first parent's child must not end the search."""
    after = {
        -1: [[0.40, 0.35, 0.25], [0.34, 0.33, 0.33]],
        0: [[1, 0, 0], [0.80, 0.10, 0.10]],
        1: [[1, 0, 0], [0.01, 0.01, 0.98]],
    }

    @of_asked_slots
    def predict(codes: torch.Tensor) -> torch.Tensor:
        return torch.tensor([[after[beam[0]] for beam in beams] for beams in codes.tolist()]).log()

    result = search(predict, 1, SearchPlan(n_codes=2, n_steps=2, beam_size=2, k=1, lazy_block=1))
    assert result.codes.tolist() == [[[1, 2]]]


def test_lazy_expansion_asks_less_where_the_model_is_sure():
    asked: list[int] = []

    def predict(codes: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        asked.append(codes.shape[1])
        logits = torch.arange(10.0, 0.0, -1.0).expand(*slots.shape, 10) * 0.5
        return logits.log_softmax(-1)

    eager = search(predict, 1, SearchPlan(n_codes=3, n_steps=3, beam_size=10, k=5))
    eager_asked, asked = sum(asked), []
    lazy = search(predict, 1, SearchPlan(n_codes=3, n_steps=3, beam_size=10, k=5, lazy_block=2))
    assert ranked(lazy) == ranked(eager)
    assert sum(asked) < eager_asked
