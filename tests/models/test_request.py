from __future__ import annotations

import numpy as np

from sidrec.data.histories import Histories
from sidrec.models.request import Request


def test_a_part_of_the_users_keeps_who_they_are() -> None:
    request = Request(Histories.from_lists([[1], [2, 3], [4]]), 7, users=["u", "v", "w"], exclude_seen=True)
    part = request.take(np.array([2, 1]))
    assert [row.tolist() for row in part.histories] == [[4], [2, 3]]
    assert part.users == ["w", "v"] and part.k == 7 and part.exclude_seen and len(part) == 2
    assert Request(Histories.from_lists([[1]])).take(np.array([0])).users is None


def test_removed_items_are_never_allowed() -> None:
    removed = np.array([True, False, False])
    histories = Histories.from_lists([[1]])
    assert Request(histories).without(None).allowed is None
    everything, some = Request(histories).without(removed), Request(histories, allowed=np.array([True, True, False]))
    assert everything.allowed is not None and everything.allowed.tolist() == [False, True, True]
    left = some.without(removed)
    assert left.allowed is not None and left.allowed.tolist() == [False, True, False]
    assert some.allowed is not None and some.allowed.tolist() == [True, True, False]  # the first request is as it was
