from __future__ import annotations

import numpy as np

from sidrec.sids.sinkhorn import even_deal, spread_last_codes


def test_an_even_deal_gives_rows_and_columns_equal_shares() -> None:
    deal = even_deal(np.array([[0.0, 1.0], [0.1, 0.2]], np.float32))
    assert np.allclose(deal.sum(axis=1), 0.5)
    assert np.allclose(deal.sum(axis=0), 0.5, atol=0.05)
    assert deal.argmax(axis=1).tolist() == [0, 1]


def test_a_group_does_not_see_what_others_occupy() -> None:
    """Items 0 and 1 collide; one is dealt the code that item 2 has, and the new collision is dealt again."""
    costs = np.array([[[0.0, 9.0], [0.0, 0.1]], [[0.0, 9.0], [0.0, 5.0]], [[0.0, 9.0], [3.0, 0.0]]], np.float32)
    codes = np.array([[0, 0], [0, 0], [0, 1]], np.int32)
    spread = spread_last_codes(codes, (2, 2), lambda items: costs[items])
    assert spread[1].tolist() == [0, 0]
    assert len(np.unique(spread, axis=0)) == 2  # three items, two codes: one collision must stay
