"""The expensive part: rank the held-out item of some users, by item and by code."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.data.dataset import Cases, Dataset
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.metrics.ranking import MISSING, ranks_of
from sidrec.models.base import Candidates, Recommender
from sidrec.models.rank_report import RankReport


def rank_cases(model: Recommender, data: Dataset, cases: Cases, settings: EvaluationSettings) -> pl.DataFrame:
    """One row per case; a rank of -1 means that the item is not among the first `settings.depth`."""
    report = _report(model, cases, settings)
    item_ids = data.catalog.item_ids
    return pl.DataFrame(
        {
            "user_id": data.user_ids.gather(cases.users),
            "target": item_ids.gather(cases.targets),
            "rank": ranks_of(report.ranking.items, cases.targets),
            "code_rank": code_ranks(model, report, cases.targets),
            "history_length": cases.histories.lengths,
            "target_count": model.counts[cases.targets],
            "generated": report.generated,
            "invalid": report.invalid,
            "duplicates": report.duplicates,
        }
    )


def code_ranks(model: Recommender, report: RankReport, targets: NDArray[np.int32]) -> NDArray[np.int32]:
    """The place of the first ID that equals the target's, counting IDs and not items (the authors' way).

    A model without semantic IDs gives every item an ID of its own.
    """
    ids = getattr(model, "semantic_ids", None)
    if ids is None:
        return ranks_of(report.ranking.items, targets)
    if report.codes is not None:
        equal = (report.codes == ids.codes[targets][:, None]).all(-1)  # (users, k)
        return np.where(equal.any(1), equal.argmax(1), MISSING).astype(np.int32)
    owner = np.unique(ids.codes, axis=0, return_inverse=True)[1].ravel()  # items with one ID share a number
    items = report.ranking.items
    ranked = np.where(items >= 0, owner[items], -1)
    places = ranks_of(ranked, owner[targets])
    again = repeated(ranked) & (items >= 0)  # an ID that no item has keeps its place
    before: NDArray[np.int64] = np.cumsum(again, axis=1) - again
    return np.where(places >= 0, places - before[np.arange(len(places)), places], MISSING).astype(np.int32)


def repeated(rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a value already stood further left in its row."""
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, 1)
    same = np.zeros(rows.shape, dtype=bool)
    same[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    found = np.empty_like(same)
    np.put_along_axis(found, order, same, 1)
    return found


def collision_rate(model: Recommender) -> float:
    """Share of items that share their ID with another one."""
    ids = getattr(model, "semantic_ids", None)
    if ids is None or ids.n_items == 0:
        return 0.0
    return float(ids.n_colliding / ids.n_items)


def _report(model: Recommender, cases: Cases, settings: EvaluationSettings) -> RankReport:
    candidates = Candidates(exclude_seen=settings.exclude_seen)
    ask = getattr(model, "rank_report", None)
    if ask is not None:
        report: RankReport = ask(cases.histories, settings.depth, candidates)
        return report
    ranking = model.rank(cases.histories, settings.depth, candidates)
    generated = np.isfinite(ranking.scores)
    invalid = (generated & (ranking.items < 0)).sum(1)
    return RankReport(ranking, generated.sum(1), invalid, duplicates=np.zeros_like(invalid))
