"""From per-user ranks to the figures of a table: means over seeds, intervals, and which differences are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sidrec.metrics.significance import (
    Interval,
    PairedTest,
    bootstrap_interval,
    holm,
    paired_bootstrap,
    paired_t_test,
)
from sidrec.reports.runs import RowRuns, SectionRuns


@dataclass(frozen=True)
class Measured:
    """A mean over seeds and users, with the 95 % interval over users."""

    value: float
    interval: Interval
    spread: float
    """Standard deviation over the seeds; 0 for a single one."""


@dataclass(frozen=True)
class Against:
    """This row minus another one on the same users; `p` is the paired t-test's after Holm's correction."""

    difference: float
    interval: Interval
    p: float
    real: bool
    """Both tests agree: p below 5 %, and the bootstrap interval does not hold zero."""

    @property
    def verdict(self) -> str:
        if not self.real:
            return "could be chance"
        return "better" if self.difference > 0 else "worse"


@dataclass(frozen=True)
class RowSummary:
    row: RowRuns
    figures: Mapping[str, Measured]
    against: Against | None
    """None for the baseline itself, and where one of the two was not measured."""


@dataclass(frozen=True)
class SectionSummary:
    runs: SectionRuns
    rows: tuple[RowSummary, ...]

    def ranked(self, metric: str) -> list[str]:
        """Labels of the measured rows, best first."""
        measured = [row for row in self.rows if row.figures]
        return [row.row.label for row in sorted(measured, key=lambda row: -row.figures[metric].value)]


def summarise(runs: SectionRuns) -> SectionSummary:
    metrics = runs.metrics()
    against = compare_pairs(runs, [(row.label, runs.section.compared_with) for row in runs.rows])
    rows = [
        RowSummary(row, {name: _measured(row, name) for name in metrics} if row.test else {}, found)
        for row, found in zip(runs.rows, against, strict=True)
    ]
    return SectionSummary(runs, tuple(rows))


def compare_pairs(
    runs: SectionRuns, pairs: Sequence[tuple[str, str]], metric: str | None = None
) -> list[Against | None]:
    """First minus second of every pair, corrected for how many are asked; None where there is nothing to compare.

    By the metric that rows are compared by, or another one.
    """
    rows = {row.label: row for row in runs.measured}
    asked = [(a, b) if a != b and a in rows and b in rows else None for a, b in pairs]
    tests = []
    for pair in asked:
        if pair is not None:
            ours, theirs = (rows[label].per_user(metric or runs.judge) for label in pair)
            tests.append((paired_t_test(theirs, ours), paired_bootstrap(theirs, ours)))
    adjusted = holm(np.array([t_test.p_value for t_test, _ in tests])).tolist() if tests else []
    answers = iter([_against(*both, p) for both, p in zip(tests, adjusted, strict=True)])
    return [None if pair is None else next(answers) for pair in asked]


def _against(t_test: PairedTest, bootstrap: PairedTest, p: float) -> Against:
    interval = bootstrap.interval
    return Against(t_test.difference, interval, p, p < 0.05 and (interval.low > 0 or interval.high < 0))


def _measured(row: RowRuns, metric: str) -> Measured:
    values = row.per_user(metric)
    seeds = row.seed_means(metric)
    spread = float(np.std(seeds, ddof=1)) if len(seeds) > 1 else 0.0
    return Measured(float(values.mean()), bootstrap_interval(values), spread)
