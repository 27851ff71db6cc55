from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.unique_ids import make_unique_slowly
from sidrec.sids import unique_ids
from sidrec.sids.id_keys import id_keys
from sidrec.sids.unique_ids import make_unique


def line_costs(points: list[float], sizes: tuple[int, ...]) -> np.ndarray:
    """Codes stand at 0, 1, 2, .. on a line in every slot; infinite beyond a slot's size."""
    positions = np.arange(max(sizes), dtype=np.float32)
    costs = (np.array(points, np.float32)[:, None, None] - positions) ** 2
    costs = np.repeat(costs, len(sizes), axis=1)
    for slot, size in enumerate(sizes):
        costs[:, slot, size:] = np.inf
    return costs


def test_nearest_item_keeps_the_id_and_the_other_takes_the_cheapest_free_one() -> None:
    codes = np.array([[1], [1], [2]], np.int32)
    costs = line_costs([1.4, 1.1, 2.0], (4,))
    # item 1 stays; item 0 would like 2 (taken), then 0, then 3
    assert make_unique(codes, (4,), lambda items: costs[items]).tolist() == [[0], [1], [2]]


def test_a_move_of_two_slots_is_taken_when_single_moves_are_occupied() -> None:
    sizes = (2, 2)
    codes = np.array([[0, 0], [0, 0], [1, 0], [0, 1]], np.int32)
    costs = line_costs([0.0, 0.0, 0.0, 0.0], sizes)
    assert make_unique(codes, sizes, lambda items: costs[items]).tolist() == [[0, 0], [1, 1], [1, 0], [0, 1]]


def test_taken_ids_are_left_alone() -> None:
    codes = np.array([[1], [2]], np.int32)
    costs = line_costs([1.2, 2.0], (4,))
    taken = id_keys(np.array([[1]]), (4,))
    assert make_unique(codes, (4,), lambda items: costs[items], taken).tolist() == [[0], [2]]


@st.composite
def crowds(draw: st.DrawFn) -> tuple[tuple[int, ...], int, int, int]:
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    room = int(np.prod(sizes))
    n_items = draw(st.integers(1, room))
    return sizes, n_items, draw(st.integers(0, room - n_items)), draw(st.integers(0, 10_000))


@settings(max_examples=150, deadline=None)
@given(crowds())
def test_agrees_with_exhaustive_search(crowd: tuple[tuple[int, ...], int, int, int]) -> None:
    sizes, n_items, n_taken, seed = crowd
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 2**20, (n_items, len(sizes), max(sizes))).astype(np.float32)
    for slot, size in enumerate(sizes):
        costs[:, slot, size:] = np.inf
    codes = costs.argmin(-1).astype(np.int32)
    every = np.stack(np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij"), -1).reshape(-1, len(sizes))
    taken = every[rng.permutation(len(every))[:n_taken]]
    unique = make_unique(codes, sizes, lambda items: costs[items], id_keys(taken, sizes))
    assert [tuple(row) for row in unique.tolist()] == make_unique_slowly(codes, sizes, costs, taken.tolist())


@pytest.mark.parametrize("sizes", [(16, 16), (3, 7, 11), (5, 5, 5, 5)])
def test_identical_items_fill_the_whole_space(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unique_ids, "_PATTERN_LIMIT", 60)  # so that the one-by-one placement has work to do
    n_items = int(np.prod(sizes))
    costs = np.repeat(line_costs([1.0], sizes), n_items, axis=0)
    codes = np.ones((n_items, len(sizes)), np.int32)
    unique = make_unique(codes, sizes, lambda items: costs[items])
    assert len(np.unique(unique, axis=0)) == n_items
    assert unique[0].tolist() == [1] * len(sizes)


def test_blocks_of_movers_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    costs = rng.random((200, 3, 7)).astype(np.float32)
    costs[:100] = costs[:1] + 1e-3 * rng.random((100, 3, 7)).astype(np.float32)
    codes = costs.argmin(-1).astype(np.int32)
    whole = make_unique(codes, (7, 7, 7), lambda items: costs[items])
    monkeypatch.setattr(unique_ids, "_CELLS", 5_000)
    assert (make_unique(codes, (7, 7, 7), lambda items: costs[items]) == whole).all()
    assert len(np.unique(whole, axis=0)) == 200


def test_ids_too_long_for_an_exact_key_become_unique_too() -> None:
    rng = np.random.default_rng(0)
    sizes = (256,) * 32
    costs = rng.random((1, 32, 256)).astype(np.float32).repeat(50, axis=0)
    codes = costs.argmin(-1).astype(np.int32)
    unique = make_unique(codes, sizes, lambda items: costs[items])
    assert len(np.unique(unique, axis=0)) == 50
    assert (unique[1:] != codes[1:]).sum(axis=1).max() <= 3
