from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.data.histories import Histories
from sidrec.data.synthetic import demo_shop
from sidrec.models.popularity import Popularity
from sidrec.models.request import Request

DATA = demo_shop(n_items=60, n_users=80)
MODEL = Popularity().fit(DATA)


def slow_ranking(history, request):
    counts = DATA.train_counts()
    order = sorted(range(60), key=lambda item: (-counts[item], item))
    if request.allowed is not None:
        order = [item for item in order if request.allowed[item]]
    if request.exclude_seen:
        order = [item for item in order if item not in history]
    return (order + [-1] * request.k)[: request.k]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 59), min_size=1, max_size=70), min_size=1, max_size=5),
    st.integers(1, 80),
    st.booleans(),
    st.none() | st.lists(st.booleans(), min_size=60, max_size=60),
)
def test_equal_to_sorting_by_hand(rows, k, exclude_seen, allowed):
    mask = None if allowed is None else np.array(allowed)
    request = Request(Histories.from_lists(rows), k, mask, exclude_seen)
    ranking = MODEL.rank(request)
    assert ranking.items.tolist() == [slow_ranking(row, request) for row in rows]
    assert (np.isfinite(ranking.scores) == (ranking.items >= 0)).all()
    assert (ranking.scores[:, :-1] >= ranking.scores[:, 1:]).all()
