from __future__ import annotations

from itertools import product

import numpy as np

from sidrec.sids.id_keys import contains, groups, id_keys


def test_keys_count_tuples_in_order() -> None:
    every = np.array(list(product(range(2), range(3), range(4))))
    assert id_keys(every, (2, 3, 4)).tolist() == list(range(24))


def test_long_ids_have_different_keys() -> None:
    codes = np.random.default_rng(0).integers(0, 256, (2_000, 32))
    near = codes.copy()
    near[:, 5] = (near[:, 5] + 1) % 256
    keys = id_keys(np.concatenate([codes, near, codes]), (256,) * 32)
    assert len(np.unique(keys)) == 4_000
    assert (keys[:2_000] == keys[4_000:]).all()


def test_contains() -> None:
    known = np.array([2, 5, 9], np.uint64)
    assert contains(known, np.array([[1, 2], [9, 10]], np.uint64)).tolist() == [[False, True], [True, False]]
    assert not contains(known[:0], known).any()


def test_groups_stand_in_order_of_the_key() -> None:
    keys = np.array([7, 3, 7, 9, 3], np.uint64)
    assert [rows.tolist() for rows in groups(keys)] == [[1, 4], [0, 2], [3]]
    assert [rows.tolist() for rows in groups(keys, at_least=2)] == [[1, 4], [0, 2]]
    assert groups(keys[:0]) == []
