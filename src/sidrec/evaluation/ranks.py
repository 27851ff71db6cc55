"""The expensive part: rank the held-out item of some users, by item and by code."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.data.dataset import Cases, Dataset
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.metrics.ranking import MISSING, ranks_of
from sidrec.models.base import Recommender
from sidrec.models.capabilities import HasSemanticIds, ReportsRanks
from sidrec.models.ranking import RankReport
from sidrec.models.request import Request


def rank_cases(model: Recommender, data: Dataset, cases: Cases, settings: EvaluationSettings) -> pl.DataFrame:
    """One row per case; a rank of -1 means that the item is not among the first `settings.depth`."""
    users = data.user_ids.gather(cases.users)
    request = Request(cases.histories, settings.depth, exclude_seen=settings.exclude_seen, users=users.to_list())
    report = _report(model, request)
    item_ids = data.catalog.item_ids
    return pl.DataFrame(
        {
            "user_id": users,
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
    if not isinstance(model, HasSemanticIds):
        return ranks_of(report.ranking.items, targets)
    ids = model.semantic_ids
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
    if not isinstance(model, HasSemanticIds):
        return 0.0
    return float(model.semantic_ids.n_colliding / max(model.semantic_ids.n_items, 1))


def _report(model: Recommender, request: Request) -> RankReport:
    if isinstance(model, ReportsRanks):
        return model.rank_report(request)
    ranking = model.rank(request)
    generated = np.isfinite(ranking.scores)
    invalid = (generated & (ranking.items < 0)).sum(1)
    return RankReport(ranking, generated.sum(1), invalid, duplicates=np.zeros_like(invalid))
