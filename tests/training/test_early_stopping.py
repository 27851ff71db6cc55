from __future__ import annotations

import math

import pytest

from sidrec.training.early_stopping import EarlyStopping


@pytest.mark.parametrize(
    ("goal", "values", "best_epoch", "stops_after"),
    [
        ("max", [1, 2, 2, 1, 3], 2, 4),
        ("min", [5, 4, 6, 3, 4, 4], 4, 6),
        ("max", [math.nan, math.inf, 1], None, 2),
        ("max", [0.0, -1.0, 0.5, 0.7, 0.6], 4, None),
    ],
)
def test_patience_of_two(goal, values, best_epoch, stops_after):
    watch = EarlyStopping()
    stopped = None
    for epoch, value in enumerate(values, start=1):
        watch.observe(value, epoch, goal=goal)
        if watch.exhausted(2):
            stopped = epoch
            break
    assert (watch.best_epoch, stopped) == (best_epoch, stops_after)


def test_an_improvement_may_be_too_small_to_count():
    watch = EarlyStopping()
    assert watch.observe(1.0, 1, goal="max", min_improvement=0.1)
    assert not watch.observe(1.05, 2, goal="max", min_improvement=0.1)
    assert watch.observe(1.2, 3, goal="max", min_improvement=0.1)
    assert watch.observe(-100.0, 4, goal="min", min_improvement=0.1)
    assert not watch.observe(-105.0, 5, goal="min", min_improvement=0.1)


def test_without_patience_it_never_stops():
    watch = EarlyStopping(waited=10**6)
    assert not watch.exhausted(None)
