"""How targets are found that training held never, hardly ever, or often: what a model knows of new and rare items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from sidrec.core.pages.tables import Entry, Table
from sidrec.metrics.significance import Interval, bootstrap_interval
from sidrec.reports.runs import RowRuns, SectionRuns
from sidrec.reports.section_tables import heading

BUCKETS = ((0, 0), (1, 2), (3, 5), (6, None))
"""Training interactions of the target, from and to."""
_PLAIN = ("row", "training interactions", "users", "metric", "value", "low", "high")


@dataclass(frozen=True)
class Rare:
    """The figure of some of the users."""

    users: int
    value: float
    interval: Interval


def counts_table(name: str, runs: SectionRuns) -> Table:
    """Recall at the deepest k, bucket by bucket; averaged over seeds."""
    metric = f"recall@{max(runs.plan.ks)}"
    found = {row.label: [by_count(row, metric, *bucket) for bucket in BUCKETS] for row in runs.rows}
    users = [next((part.users for part in parts if part), 0) for parts in zip(*found.values(), strict=True)]
    columns = ("row", *(f"{_name(*bucket)} ({n:,} users)" for bucket, n in zip(BUCKETS, users, strict=True)))
    rows = tuple((Entry(label), *(_entry(part) for part in parts)) for label, parts in found.items())
    plain = [
        (label, _name(*bucket), str(part.users), metric, *_numbers(part)) if part else _missing(label, bucket, metric)
        for label, parts in found.items()
        for bucket, part in zip(BUCKETS, parts, strict=True)
    ]
    note = (
        f"{heading(metric)} by how often the target is in the training part; beneath it the 95 % interval over users."
    )
    return Table(name, columns, rows, (_PLAIN, *plain), note)


def by_count(row: RowRuns, metric: str, low: int, high: int | None) -> Rare | None:
    """The row's figure on users whose target was taken so often in training; None where nothing was measured."""
    if not row.test:
        return None
    column = pl.col("target_count")
    chosen = row.test[0].ranks.select((column >= low) & (column <= (2**62 if high is None else high)))
    values = row.per_user(metric)[chosen.to_series().to_numpy()]
    if len(values) == 0:
        return None
    return Rare(len(values), float(np.mean(values)), bootstrap_interval(values))


def _name(low: int, high: int | None) -> str:
    return f"{low} or more" if high is None else str(low) if low == high else f"{low} to {high}"


def _entry(part: Rare | None) -> Entry:
    if part is None:
        return Entry("not measured", mark="muted", number=True)
    return Entry(f"{part.value:.4f}", (f"{part.interval.low:.4f}–{part.interval.high:.4f}",), number=True)


def _numbers(part: Rare) -> tuple[str, ...]:
    return tuple(f"{number:.6f}" for number in (part.value, part.interval.low, part.interval.high))


def _missing(label: str, bucket: tuple[int, int | None], metric: str) -> tuple[str, ...]:
    return (label, _name(*bucket), "0", metric, *("not measured",) * 3)
