"""The expensive part: rank the held-out item of some users, by item and by code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.data.dataset import Cases
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.evaluation.view import View
from sidrec.metrics.ranking import MISSING, ranks_of
from sidrec.models.base import Recommender
from sidrec.models.capabilities import HasSemanticIds, ReportsRanks
from sidrec.models.ranking import Ranking, RankReport
from sidrec.models.request import Request


def rank_cases(model: Recommender, view: View, cases: Cases, settings: EvaluationSettings) -> pl.DataFrame:
    """One row per case; a rank of -1 means that the item is not among the first `settings.depth`."""
    users, asked = view.data.user_ids.gather(cases.users), view.translated(cases)
    request = Request(asked.histories, settings.depth, view.candidates, settings.exclude_seen, users.to_list())
    report = _report(model, request)
    known, targets = asked.targets >= 0, np.maximum(asked.targets, 0)
    places, codes = ranks_of(report.ranking.items, targets), code_ranks(model, report, targets)
    return pl.DataFrame(
        {
            "user_id": users,
            "target": view.data.catalog.item_ids.gather(cases.targets),
            "rank": np.where(known, places, MISSING).astype(np.int32),
            "code_rank": np.where(known, codes, MISSING).astype(np.int32),
            "history_length": cases.histories.lengths,
            "target_count": np.where(known, model.counts[targets], 0),
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
    """Users of whose history nothing is known get the most popular items, which nothing generates."""
    empty = request.histories.lengths == 0
    if not isinstance(model, ReportsRanks) or empty.all():
        return _of_ranking(model.rank(request))
    if not empty.any():
        return model.rank_report(request)
    rest, silent = np.flatnonzero(~empty), np.flatnonzero(empty)
    found, popular = model.rank_report(request.take(rest)), _of_ranking(model.rank(request.take(silent)))
    if isinstance(model, HasSemanticIds) and found.codes is not None:
        items = popular.ranking.items[..., None]
        popular = replace(popular, codes=np.where(items >= 0, model.semantic_ids.codes[items[..., 0]], -1))
    order = np.argsort(np.concatenate([rest, silent]))
    return found.followed_by(popular).take(order)


def _of_ranking(ranking: Ranking) -> RankReport:
    generated = np.isfinite(ranking.scores)
    invalid = (generated & (ranking.items < 0)).sum(1)
    return RankReport(ranking, generated.sum(1), invalid, duplicates=np.zeros_like(invalid))
