from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.fitting_items import random_beams, slow_fitting, slow_valid
from sidrec.core.errors import InputError
from sidrec.decoding.item_index.code_tables import CodeTables
from sidrec.decoding.item_index.index import ItemIndex, spread
from sidrec.decoding.order import masked_slots

BY_HAND = np.array([[0, 1, 2], [0, 1, 0], [2, 1, 1], [2, 0, 2], [0, 1, 2]])  # items 0 and 4 share an ID


def test_by_hand():
    index = ItemIndex(BY_HAND, (3, 3, 3))
    nothing = torch.tensor([[[-1, -1, -1]]])
    assert index.valid(nothing, torch.tensor([[[0, 1]]]))[0, 0].tolist() == [[True, False, True], [True, True, False]]
    last_is_2 = torch.tensor([[[-1, -1, 2]]])
    assert index.valid(last_is_2, torch.tensor([[[0]]]))[0, 0].tolist() == [[True, False, True]]
    assert index.count(last_is_2).tolist() == [[2]], "IDs, not items"
    items, offsets = index.items_of(torch.tensor([[2, 0, 2], [1, 1, 1], [0, 1, 2], [-1, -1, -1], [9, 0, 0]]))
    assert items.tolist() == [3, 0, 4]
    assert offsets.tolist() == [0, 1, 1, 3, 3, 3]
    assert index.items_that_fit(torch.tensor([-1, -1, 2])).tolist() == [0, 3, 4]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    sizes=st.sampled_from([(3, 3, 3), (4, 2, 5, 3), (17, 9), (2, 2, 2, 2, 2), (40, 3, 40, 3), (6,)]),
    n_items=st.integers(1, 40),
    table_bytes=st.sampled_from([0, 200, 1 << 20]),
    data=st.data(),
)
@pytest.mark.slow
def test_equals_looking_at_every_item(seed, sizes, n_items, table_bytes, data):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, sizes, size=(n_items, len(sizes)))
    check_against_every_item(ItemIndex(codes, sizes, table_bytes=table_bytes), codes, rng, data.draw)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), data=st.data())
def test_ids_too_long_for_one_number(seed, data):
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, 300, size=(4, 8))
    codes = centres[rng.integers(0, 4, 60)]
    codes[:, 4:] = rng.integers(297, 300, size=(60, 4))
    check_against_every_item(ItemIndex(codes, (300,) * 8, table_bytes=1 << 16), codes, rng, data.draw)


def check_against_every_item(index, codes, rng, draw):
    n_filled = draw(st.integers(0, codes.shape[1] - 1))
    beams = torch.from_numpy(random_beams(rng, codes, 6, n_filled)).view(2, 3, -1)
    slots = masked_slots(beams)
    valid, count = index.valid(beams, slots), index.count(beams)
    for user in range(2):
        for beam in range(3):
            row = beams[user, beam].tolist()
            fitting = slow_fitting(codes, row)
            assert int(count[user, beam]) == len({tuple(codes[item]) for item in fitting})
            assert index.items_that_fit(beams[user, beam]).tolist() == fitting
            for column, slot in enumerate(slots[user, beam].tolist()):
                assert valid[user, beam, column].tolist() == slow_valid(codes, row, slot, index.width)
    whole = torch.from_numpy(np.concatenate([codes, np.roll(codes, 1, axis=0)[:, ::-1] % np.array(index.sizes)]))
    items, offsets = index.items_of(whole)
    for number, row in enumerate(whole.tolist()):
        assert items[offsets[number] : offsets[number + 1]].tolist() == slow_fitting(codes, row)


@pytest.mark.parametrize(("n_codes", "size", "n_depths"), [(4, 256, 3), (4, 4096, 2), (6, 64, 3), (8, 256, 2)])
def test_the_sizes_that_matter(n_codes, size, n_depths):
    """Tables at the shallow depths, sorted keys or rows below, against a scan of 2,000 clustered items."""
    rng = np.random.default_rng(n_codes)
    codes = rng.integers(0, size, size=(40, n_codes))[rng.integers(0, 40, 2000)]
    moved = rng.random(codes.shape) < 0.4
    codes[moved] = rng.integers(0, size, size=int(moved.sum()))
    index = ItemIndex(codes, (size,) * n_codes)
    assert index.tables.n_depths == n_depths
    for n_filled in range(n_codes):
        beams = torch.from_numpy(random_beams(rng, codes, 6, n_filled)).view(1, 6, n_codes)
        slots = masked_slots(beams)
        valid = index.valid(beams, slots)
        for beam, asked, found in zip(beams[0].numpy(), slots[0].tolist(), valid[0], strict=True):
            fitting = codes[((beam < 0) | (codes == beam)).all(axis=1)]
            for column, slot in enumerate(asked):
                assert found[column].nonzero().squeeze(1).tolist() == np.unique(fitting[:, slot]).tolist()


def test_an_index_without_items_allows_nothing():
    index = ItemIndex(np.empty((0, 2), dtype=np.int32), (3, 3), table_bytes=0)
    beams = torch.tensor([[[1, -1]], [[-1, -1]]])
    assert not index.valid(beams[:1], torch.tensor([[[1]]])).any()
    assert not index.valid(beams[1:], torch.tensor([[[0, 1]]])).any()
    assert index.count(beams).tolist() == [[0], [0]]
    assert index.find(torch.tensor([[1, 1]])).tolist() == [-1]


def test_parts_of_ranges_cover_them_once():
    low, high = torch.tensor([0, 5, 5, 90]), torch.tensor([4, 5, 25, 93])
    for limit in (1, 3, 6, 1000):
        pairs = [pair for rows, at in spread(low, high, limit) for pair in zip(rows.tolist(), at.tolist(), strict=True)]
        assert pairs == [(0, p) for p in range(4)] + [(2, p) for p in range(5, 25)] + [(3, p) for p in range(90, 93)]


@pytest.mark.parametrize(
    ("codes", "sizes", "words"),
    [
        (np.zeros((2, 3), int), (4, 4), "shape"),
        (np.full((2, 2), 4), (5, 4), "outside"),
        (np.full((2, 2), -1), (5, 4), "outside"),
    ],
)
def test_codes_that_cannot_be_indexed_are_refused(codes, sizes, words):
    with pytest.raises(InputError, match=words):
        ItemIndex(codes, sizes)


def test_ids_of_any_length_are_found_but_only_short_ones_by_filled_slots():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 300, size=(50, 64))
    codes[:, :60] = 0  # long common beginnings, zeros at the end of some keys
    codes[3], codes[4, 60:] = codes[7], 0
    index = ItemIndex(codes, (300,) * 64)
    items, offsets = index.items_of(torch.from_numpy(codes[[4, 3, 9]]))
    assert items.tolist() == [4, 3, 7, 9] and offsets.tolist() == [0, 1, 3, 4]
    assert index.find(torch.from_numpy(codes[:1] + 1)).tolist() == [-1]
    assert [tuple(row) for row in index.ids.tolist()] == sorted({tuple(row) for row in codes.tolist()})
    with pytest.raises(InputError, match="at most 12 codes per item, not 64; use the search method score-all"):
        index.count(torch.full((1, 1, 64), -1))


def test_filled_slots_are_indexed_once_and_by_the_first_who_asks(monkeypatch):
    built = []

    class Counted(CodeTables):
        def __init__(self, *given):
            built.append(1)
            time.sleep(0.01)
            super().__init__(*given)

    monkeypatch.setattr("sidrec.decoding.item_index.index.CodeTables", Counted)
    index = ItemIndex(BY_HAND, (3, 3, 3))
    assert index.find(torch.tensor([[2, 0, 2]])).tolist() == [2] and not index.is_built
    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: index.count(torch.tensor([[[-1, -1, 2]]])).tolist(), range(8)))
    assert counts == [[[2]]] * 8 and built == [1] and index.is_built
