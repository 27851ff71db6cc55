from __future__ import annotations

import math

import polars as pl
import pytest

from sidrec.evaluation.figures import COUNTS, LENGTHS, intervals_of, metrics_of, per_user_metrics, rates_of, slices_of
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.evaluation.results import Rates

RANKS = pl.DataFrame(
    {
        "rank": [0, 3, -1, 9],
        "code_rank": [0, 2, 4, 8],
        "history_length": [4, 5, 19, 400],
        "target_count": [0, 1, 99, 100],
        "generated": [10, 10, 10, 20],
        "invalid": [0, 5, 0, 0],
        "duplicates": [1, 0, 0, 0],
    },
    schema_overrides={"rank": pl.Int32, "code_rank": pl.Int32},
)


def test_metrics_by_hand():
    found = metrics_of(RANKS, (1, 5, 10))
    assert list(found)[:6] == ["recall@1", "recall@5", "recall@10", "ndcg@5", "ndcg@10", "mrr@10"]
    assert found["recall@5"] == 0.5
    assert found["recall@10"] == 0.75
    assert found["ndcg@5"] == pytest.approx((1 + 1 / math.log2(5)) / 4)
    assert found["mrr@10"] == pytest.approx((1 + 1 / 4 + 1 / 10) / 4)
    assert found["code_match_recall@5"] == 0.75
    assert found["code_match_recall@10"] == 1.0


def test_rates_by_hand():
    assert rates_of(RANKS, 0.25) == Rates(5 / 50, 1 / 50, 0.25)
    assert rates_of(RANKS.with_columns(generated=0, invalid=0, duplicates=0), 0.0) == Rates(0.0, 0.0, 0.0)


def test_slices_hold_every_user_once():
    lengths = slices_of(RANKS, "history_length", LENGTHS, (1, 10))
    assert {name: part.users for name, part in lengths.items()} == {"1-4": 1, "5-9": 1, "10-19": 1, "20+": 1}
    counts = slices_of(RANKS, "target_count", COUNTS, (1, 10))
    assert {name: part.users for name, part in counts.items()} == {"cold": 1, "1-4": 1, "20-99": 1, "100+": 1}
    assert counts["cold"].metrics["recall@1"] == 1.0
    assert counts["20-99"].metrics["recall@10"] == 0.0


def test_intervals_hold_the_figure_for_every_metric():
    found = intervals_of(RANKS, EvaluationSettings())
    assert set(found) == set(per_user_metrics((1, 5, 10)))
    for name, interval in found.items():
        assert interval.low <= metrics_of(RANKS, (1, 5, 10))[name] <= interval.high
