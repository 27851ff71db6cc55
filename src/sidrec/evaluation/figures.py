"""From per-user ranks to metrics, intervals, rates and slices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.evaluation.results import Rates, SliceResult
from sidrec.metrics.ranking import gains, hits, reciprocals
from sidrec.metrics.significance import Interval, bootstrap_interval

PerUser = Callable[[NDArray[np.int32]], NDArray[np.float64]]
CODE_MATCH = "code_match_"
LENGTHS = ((1, 4), (5, 9), (10, 19), (20, None))
COUNTS = ((0, 0), (1, 4), (5, 19), (20, 99), (100, None))


def per_user_metrics(ks: tuple[int, ...]) -> dict[str, PerUser]:
    """Name -> per-user values; NDCG@1 is Recall@1 and has no name of its own."""
    found: dict[str, PerUser] = {f"recall@{k}": partial(hits, k=k) for k in ks}
    found |= {f"ndcg@{k}": partial(gains, k=k) for k in ks if k > 1}
    return found | {f"mrr@{ks[-1]}": reciprocals}


def metrics_of(ranks: pl.DataFrame, ks: tuple[int, ...]) -> dict[str, float]:
    """All metrics by item match, and the same by code match."""
    columns = {"": ranks["rank"].to_numpy(), CODE_MATCH: ranks["code_rank"].to_numpy()}
    return {
        prefix + name: _mean(values(column))
        for prefix, column in columns.items()
        for name, values in per_user_metrics(ks).items()
    }


def intervals_of(ranks: pl.DataFrame, settings: EvaluationSettings) -> dict[str, Interval]:
    """95 % bootstrap intervals over users."""
    column = ranks["rank"].to_numpy()
    return {
        name: bootstrap_interval(values(column), n_samples=settings.bootstrap, seed=settings.seed)
        for name, values in per_user_metrics(settings.ks).items()
    }


def rates_of(ranks: pl.DataFrame, collision_rate: float) -> Rates:
    generated, invalid, duplicates = (int(ranks[name].sum()) for name in ("generated", "invalid", "duplicates"))
    return Rates(invalid / max(generated, 1), duplicates / max(generated, 1), collision_rate)


def slices_of(
    ranks: pl.DataFrame, column: str, buckets: tuple[tuple[int, int | None], ...], ks: tuple[int, ...]
) -> dict[str, SliceResult]:
    """Metrics of the users whose `column` lies in each bucket; empty buckets are left out."""
    found = {}
    for low, high in buckets:
        part = ranks.filter(pl.col(column).is_between(low, high if high is not None else 2**62))
        if part.height:
            found[_bucket_name(column, low, high)] = SliceResult(part.height, metrics_of(part, ks))
    return found


def _bucket_name(column: str, low: int, high: int | None) -> str:
    if column == "target_count" and high == 0:
        return "cold"
    return f"{low}+" if high is None else f"{low}-{high}"


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0
