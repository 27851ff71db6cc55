"""Sections whose ranks are written by hand, so that every figure of a report is known."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sidrec.evaluation.results import Evaluation, Rates, Timing
from sidrec.metrics.ranking import recall_at
from sidrec.pipeline.benchmark.plan import Plan
from sidrec.pipeline.benchmark.records import CellRecord
from sidrec.reports.runs import RowRuns, SectionRuns


def made_up_row(label: str, *ranks: list[int], x: float | None = None) -> RowRuns:
    """One list of ranks per seed; -1 is a miss."""
    runs, records = [], []
    for seed, of_users in enumerate(ranks):
        frame = pl.DataFrame({"user_id": [f"u{user}" for user in range(len(of_users))], "rank": of_users})
        values = frame["rank"].to_numpy()
        metrics = {f"recall@{k}": recall_at(values, k) for k in (1, 2)} | {"ndcg@2": 0.0}
        timing = Timing(1.0, 100.0)
        runs.append(Evaluation("m", "d", "test", False, frame.height, metrics, {}, Rates(), {}, {}, timing, frame))
        training = {"epochs": 2, "seconds": 3.0}
        name = f"s/d/{label}-seed{seed}"
        records.append(CellRecord(name, "s", label, "d", seed, "done", training=training, users_per_s=100.0))
    problems = () if ranks else ("seed0 failed: no memory",)
    return RowRuns(label, "llada-rec", x, tuple(records), tuple(runs), problems)


def made_up_section(*rows: RowRuns, name: str = "s", axis: str = "", published: str | None = None) -> SectionRuns:
    variants = [{"label": row.label, **({} if row.x is None else {"x": row.x})} for row in rows]
    section = {"name": name, "title": "S", "axis": axis, "variants": variants}
    data = {"d": {"source": "demo", "published": published}}
    values = {"title": "t", "ks": [1, 2], "datasets": data, "section": [section]}
    plan = Plan.parse(values, owner="a plan")
    return SectionRuns(Path("nowhere"), plan, plan.section[0], "d", rows)
