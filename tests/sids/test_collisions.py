from __future__ import annotations

import numpy as np
import pytest

from sidrec.core.errors import InputError
from sidrec.sids.collisions import check_room, number_in_group, resolve, resolve_new


def line_costs(points: list[list[float]], size: int) -> np.ndarray:
    return ((np.array(points, np.float32)[:, :, None] - np.arange(size)) ** 2).astype(np.float32)


CODES = np.array([[0, 1], [0, 1], [1, 1], [0, 1]], np.int32)
COSTS = line_costs([[0, 1.1], [0, 1.0], [1, 1], [0, 1.4]], 3)


def test_unique_moves_the_cheapest_pair_first() -> None:
    # item 1 stays on (0, 1); item 3 pays .2 for (0, 2), less than item 0's .8, so item 0 takes (0, 0) for 1.2
    codes, sizes = resolve(CODES, (3, 3), "unique", lambda items: COSTS[items])
    assert codes.tolist() == [[0, 0], [0, 1], [1, 1], [0, 2]]
    assert sizes == (3, 3)


def test_keep_does_nothing() -> None:
    assert resolve(CODES, (3, 3), "keep", lambda items: COSTS[items])[0].tolist() == CODES.tolist()


def test_extra_code_counts_within_the_group() -> None:
    codes, sizes = resolve(CODES, (3, 3), "extra-code", lambda items: COSTS[items])
    assert codes.tolist() == [[0, 1, 0], [0, 1, 1], [1, 1, 0], [0, 1, 2]]
    assert sizes == (3, 3, 6)  # the largest collision may double


def test_sinkhorn_deals_the_last_code_out() -> None:
    codes, _ = resolve(CODES, (3, 3), "sinkhorn", lambda items: COSTS[items])
    assert (codes[:, 0] == CODES[:, 0]).all()
    assert sorted(codes[[0, 1, 3], 1].tolist()) == [0, 1, 2]


def test_sinkhorn_cannot_part_identical_items() -> None:
    costs = line_costs([[0, 1.1]] * 3, 3)
    codes, _ = resolve(CODES[:2].copy(), (3, 3), "sinkhorn", lambda items: costs[items])
    assert codes[0].tolist() == codes[1].tolist()


def test_new_items_avoid_old_ids_in_every_policy_but_keep() -> None:
    new = np.array([[0, 1], [0, 1]], np.int32)
    costs = line_costs([[0, 1.2], [0, 1.1]], 3)
    unique, _ = resolve_new(new, np.array([[0, 1], [0, 2]], np.int32), (3, 3), "unique", lambda items: costs[items])
    assert unique.tolist() == [[1, 1], [0, 0]] or unique.tolist() == [[0, 0], [1, 1]]
    extra, _ = resolve_new(new, np.array([[0, 1, 0]], np.int32), (3, 3, 4), "extra-code", lambda items: costs[items])
    assert extra.tolist() == [[0, 1, 1], [0, 1, 2]]
    kept, _ = resolve_new(new, np.array([[0, 1]], np.int32), (3, 3), "keep", lambda items: costs[items])
    assert kept.tolist() == new.tolist()


def test_a_full_extra_code_is_said_in_words() -> None:
    new = np.array([[0, 1], [0, 1]], np.int32)
    with pytest.raises(InputError, match="tokenize all items again"):
        resolve_new(new, np.array([[0, 1, 0]], np.int32), (3, 3, 2), "extra-code", lambda items: COSTS[items])


@pytest.mark.parametrize(
    ("n_items", "sizes", "advice"),
    [
        (300, (16, 16), "choose n_codes=3 with codebook_size=16, or n_codes=2 with codebook_size=18"),
        (1_000_001, (100, 100, 100), "n_codes=4 with codebook_size=100, or n_codes=3 with codebook_size=101"),
        (5, (1, 1), "choose n_codes=2 with codebook_size=3"),
    ],
)
def test_too_many_items_say_what_would_do(n_items: int, sizes: tuple[int, ...], advice: str) -> None:
    with pytest.raises(InputError, match=advice):
        check_room(n_items, sizes, "unique")
    check_room(n_items, sizes, "keep")
    check_room(int(np.prod(sizes)), sizes, "unique")


def test_number_in_group() -> None:
    assert number_in_group(np.array([7, 3, 7, 7, 3], np.uint64)).tolist() == [0, 0, 1, 2, 1]
