from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.fitting_items import random_beams
from sidrec.decoding.item_index.slot_sets import filled_sets
from sidrec.decoding.item_index.sorted_ids import SortedKeys, SortedRows, sort_ids


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n_items=st.integers(1, 30), n_filled=st.integers(0, 4))
def test_keys_and_rows_give_the_same_ranges(seed, n_items, n_filled):
    rng = np.random.default_rng(seed)
    ids = np.unique(rng.integers(0, (3, 4, 2, 3), size=(n_items, 4)), axis=0).astype(np.int32)
    beams = torch.from_numpy(random_beams(rng, ids, 8, n_filled))
    keys, rows = SortedKeys(ids, (3, 4, 2, 3)), SortedRows(ids)
    low, high = keys.ranges(beams, filled_sets(beams))
    other_low, other_high = rows.ranges(beams, filled_sets(beams))
    assert (high - low).tolist() == (other_high - other_low).tolist()
    everywhere, slots = torch.arange(6 * len(ids)).unsqueeze(1), torch.arange(4)
    assert torch.equal(keys.code_at(everywhere, slots), rows.code_at(everywhere, slots))
    for beam, first, last in zip(beams, low, high, strict=True):
        found = keys.code_at(torch.arange(int(first), int(last)).unsqueeze(1), slots)
        assert ((beam < 0) | (found == beam)).all()


def test_long_ids_are_sorted_by_rows():
    ids = np.zeros((1, 8), dtype=np.int32)
    assert isinstance(sort_ids(ids, (256,) * 8), SortedRows)
    assert isinstance(sort_ids(ids, (256,) * 7), SortedKeys)
