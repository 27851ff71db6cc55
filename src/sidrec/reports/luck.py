"""The luck of training: how far two trainings of one row lie apart, and what that does to a difference."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, sqrt

import numpy as np
from scipy import stats

from sidrec.metrics.significance import Interval
from sidrec.reports.runs import SectionRuns


@dataclass(frozen=True)
class Luck:
    """Standard deviation of one training's figure around its row's mean, pooled over the rows of a section."""

    spread: float
    degrees: int

    def widen(self, interval: Interval, difference: float, n_ours: int, n_theirs: int) -> Interval:
        """The 95 % interval over users and trainings, where it was one over users."""
        of_training = float(stats.t.ppf(0.975, self.degrees)) * self.spread * sqrt(1 / n_ours + 1 / n_theirs)
        half = hypot((interval.high - interval.low) / 2, of_training)
        return Interval(difference - half, difference + half)


def luck_of_training(runs: SectionRuns, metric: str) -> Luck | None:
    """From what seeds change beyond what they change in every row alike; None where no row has two.

    Rows that share their models (another order of decoding, say) move together with the seed, and that does not count.
    """
    trained = [row for row in runs.measured if any(record.training for record in row.records)]
    n_seeds = max((len(row.test) for row in trained), default=0)
    if n_seeds < 2:
        return None
    values = np.array([row.seed_means(metric) for row in trained if len(row.test) == n_seeds])
    rest = values - values.mean(axis=1, keepdims=True)
    if len(values) > 1:
        rest = rest - rest.mean(axis=0, keepdims=True)
    degrees = max(1, len(values) - 1) * (n_seeds - 1)
    return Luck(float(np.sqrt((rest**2).sum() / degrees)), degrees)
