from __future__ import annotations

from math import comb

import pytest
import torch

from sidrec.decoding.item_index.slot_sets import covering_orders, filled_sets, number_of


@pytest.mark.parametrize("n_codes", range(1, 8))
def test_every_set_begins_its_order_and_no_fewer_orders_would_do(n_codes):
    orders, order_of = covering_orders(n_codes)
    assert len(orders) == comb(n_codes, n_codes // 2)
    assert orders[0] == tuple(range(n_codes))
    assert order_of[-1] == 0, "whole IDs are found in lexicographic order"
    for number in range(1 << n_codes):
        order = orders[order_of[number]]
        assert sorted(order) == list(range(n_codes))
        assert number_of(order[: number.bit_count()]) == number


def test_filled_slots_are_bits():
    assert filled_sets(torch.tensor([[-1, -1, -1], [4, -1, 0], [0, 0, 0]])).tolist() == [0, 0b101, 0b111]
