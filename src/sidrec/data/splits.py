"""Where training ends and where validation ends, per user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import InputError

SplitRule = Literal["leave-one-out", "global-time"]
SHORTEST: dict[SplitRule, int] = {"leave-one-out": 3, "global-time": 2}
"""The shortest sequence a split can use."""


@dataclass(frozen=True)
class Ends:
    """Positions inside each user's sequence: train is [0, train), validation [train, validation), test the rest."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]


def leave_one_out(lengths: NDArray[np.int64]) -> Ends:
    """The last item tests, the one before validates; a user too short for both only trains."""
    long_enough = lengths >= SHORTEST["leave-one-out"]
    return Ends(np.where(long_enough, lengths - 2, lengths), np.where(long_enough, lengths - 1, lengths))


def global_time(times: NDArray[np.int64], offsets: NDArray[np.int64], cuts: tuple[int, int]) -> Ends:
    """Before the first cut everything trains, before the second validates, from there on tests."""
    return Ends(_before(times, offsets, cuts[0]), _before(times, offsets, cuts[1]))


def time_cuts(times: NDArray[np.int64], validation_share: float, test_share: float) -> tuple[int, int]:
    """The two moments that leave these shares of all interactions (ties stay together) after them."""
    order = np.sort(times)
    last = len(order) - 1
    first = order[min(int(np.floor(len(order) * (1 - validation_share - test_share) + 1e-9)), last)]
    second = order[min(int(np.floor(len(order) * (1 - test_share) + 1e-9)), last)]
    if first <= order[0]:
        raise InputError(
            "the time split leaves nothing to train on, most interactions carry the same time; "
            "split by leave-one-out or with smaller shares.",
            arguments=("split",),
        )
    return int(first), int(second)


def _before(times: NDArray[np.int64], offsets: NDArray[np.int64], cut: int) -> NDArray[np.int64]:
    earlier = np.concatenate([np.zeros(1, np.int64), np.cumsum(times < cut)])
    return np.asarray(earlier[offsets[1:]] - earlier[offsets[:-1]], dtype=np.int64)
