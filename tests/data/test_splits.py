"""Where the parts begin and end."""

from __future__ import annotations

import numpy as np
import pytest

from sidrec.core.errors import InputError
from sidrec.data.splits import global_time, leave_one_out, time_cuts


def test_leave_one_out_by_hand() -> None:
    ends = leave_one_out(np.array([5, 3, 2, 1]))
    assert ends.train.tolist() == [3, 1, 2, 1]
    assert ends.validation.tolist() == [4, 2, 2, 1]


def test_global_time_by_hand() -> None:
    times = np.array([1, 5, 9, 2, 3, 6, 7])  # two users: 1 5 9 and 2 3 6 7
    ends = global_time(times, np.array([0, 3, 7]), (5, 7))
    assert ends.train.tolist() == [1, 2]  # before 5
    assert ends.validation.tolist() == [2, 3]  # before 7


def test_shares_become_moments() -> None:
    assert time_cuts(np.arange(100, 110), 0.2, 0.1) == (107, 109)
    assert time_cuts(np.array([3, 1, 2, 4]), 0.25, 0.25) == (3, 4)


def test_one_moment_for_all_cannot_be_split() -> None:
    with pytest.raises(InputError, match="nothing to train on"):
        time_cuts(np.full(10, 7), 0.1, 0.1)
