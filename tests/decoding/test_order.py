from __future__ import annotations

import torch

from sidrec.decoding.order import candidates, choose, masked_slots

CODES = torch.tensor([[[-1, 5, -1, -1], [-1, -1, -1, 0]]])


def test_masked_slots_are_ascending():
    assert masked_slots(CODES).tolist() == [[[0, 2, 3], [0, 1, 2]]]


def test_fixed_orders_ask_only_the_next_slots():
    masked = masked_slots(CODES)
    assert candidates("left-to-right", masked, 2).tolist() == [[[0, 2], [0, 1]]]
    assert candidates("right-to-left", masked, 2).tolist() == [[[3, 2], [2, 1]]]
    assert candidates("adaptive", masked, 2).tolist() == masked.tolist()
    assert choose("left-to-right", torch.tensor([[[0.1, 0.9]]]), 2).tolist() == [[[0, 1]]]


def test_adaptive_takes_the_surest_and_the_lower_slot_of_equals():
    confidence = torch.tensor([[[-3.0, -1.0, -2.0], [-1.0, -1.0, -1.0]]])
    assert choose("adaptive", confidence, 2).tolist() == [[[1, 2], [0, 1]]]
