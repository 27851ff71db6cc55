from __future__ import annotations

import numpy as np
import torch

from sidrec.data.histories import Histories
from sidrec.decoding.permits import Permits

HISTORIES = Histories.from_lists([np.array([1, 3]), np.array([0, 0])])
ASKED = torch.tensor([[0, 1, 3, -1, 4], [0, 1, 3, -1, 4]])


def test_seen_items_are_each_users_own():
    permits = Permits.of(5, HISTORIES, None, exclude_seen=True)
    assert permits(ASKED).tolist() == [[True, False, False, False, True], [False, True, True, False, True]]


def test_a_shorter_mask_leaves_out_what_is_beyond():
    permits = Permits.of(5, HISTORIES, np.array([True, True, True, False]), exclude_seen=False)
    assert permits(ASKED).tolist() == [[True, True, False, False, False]] * 2
