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
from sidrec.reports.luck import Luck, luck_of_training
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
    """Both tests agree: p below 5 %, and neither interval holds zero."""
    with_luck: Interval | None = None
    """The interval over users and trainings, where rows were trained more than once."""

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
    rows, metric = {row.label: row for row in runs.measured}, metric or runs.judge
    luck = luck_of_training(runs, metric)
    asked = [(a, b) if a != b and a in rows and b in rows else None for a, b in pairs]
    tests = []
    for pair in asked:
        if pair is not None:
            ours, theirs = (rows[label].per_user(metric) for label in pair)
            tests.append((paired_t_test(theirs, ours), paired_bootstrap(theirs, ours)))
    adjusted = holm(np.array([t_test.p_value for t_test, _ in tests])).tolist() if tests else []
    answers = zip(tests, adjusted, strict=True)
    return [None if pair is None else _against(luck, [rows[label] for label in pair], *next(answers)) for pair in asked]


def _against(luck: Luck | None, pair: list[RowRuns], tests: tuple[PairedTest, PairedTest], p: float) -> Against:
    difference, interval = tests[0].difference, tests[1].interval
    wider = None if luck is None else luck.widen(interval, difference, *(len(row.test) for row in pair))
    clear = all(one.low > 0 or one.high < 0 for one in (interval, wider) if one is not None)
    return Against(difference, interval, p, p < 0.05 and clear, wider)


def _measured(row: RowRuns, metric: str) -> Measured:
    values = row.per_user(metric)
    seeds = row.seed_means(metric)
    spread = float(np.std(seeds, ddof=1)) if len(seeds) > 1 else 0.0
    return Measured(float(values.mean()), bootstrap_interval(values), spread)
