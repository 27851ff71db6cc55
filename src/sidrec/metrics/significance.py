"""Whether a figure, or a difference between two models on the same users, is more than chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sidrec.core.errors import InputError

Values = NDArray[np.float64]
_CELLS = 2_000_000
"""Numbers alive at once while resampling."""


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True)
class PairedTest:
    """`difference` is mean(second) - mean(first); `p_value` is two-sided."""

    difference: float
    p_value: float
    interval: Interval


def bootstrap_interval(values: Values, *, confidence: float = 0.95, n_samples: int = 2000, seed: int = 0) -> Interval:
    """Percentile interval of the mean of per-user values."""
    return _percentiles(bootstrap_means(values, n_samples, seed), confidence)


def paired_bootstrap(
    first: Values, second: Values, *, confidence: float = 0.95, n_samples: int = 10_000, seed: int = 0
) -> PairedTest:
    """Resample users, keeping each user's pair together; p is twice the smaller share of means beyond zero."""
    differences = _differences(first, second)
    means = bootstrap_means(differences, n_samples, seed)
    beyond = min((means <= 0).mean(), (means >= 0).mean())
    p_value = min(1.0, float(2 * (beyond * n_samples + 1) / (n_samples + 1)))
    return PairedTest(float(differences.mean()), p_value, _percentiles(means, confidence))


def paired_t_test(first: Values, second: Values, *, confidence: float = 0.95) -> PairedTest:
    """Student's test of the per-user differences."""
    differences = _differences(first, second)
    mean, count = float(differences.mean()), len(differences)
    if count < 2:
        raise InputError("a paired t-test needs at least two users in common.")
    if np.ptp(differences) == 0:  # no spread: the test statistic is 0/0 or infinite
        return PairedTest(mean, 1.0 if mean == 0 else 0.0, Interval(mean, mean))
    result = stats.ttest_rel(second, first)
    half = float(stats.t.ppf((1 + confidence) / 2, count - 1)) * float(differences.std(ddof=1)) / count**0.5
    return PairedTest(mean, float(result.pvalue), Interval(mean - half, mean + half))


def holm(p_values: Values) -> Values:
    """Holm's correction: p-values as if only one question had been asked."""
    order = np.argsort(p_values, kind="stable")
    scaled = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(scaled)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def bootstrap_means(values: Values, n_samples: int, seed: int) -> Values:
    """Means of `n_samples` resamples.

    A resample is a multinomial count of the distinct values: exact, and because ranks give few distinct values it
    costs the same for a thousand users and for ten million.
    """
    if len(values) == 0:
        raise InputError("there are no users to resample; evaluate at least one.")
    distinct, counts = np.unique(values, return_counts=True)
    rng = np.random.default_rng(seed)
    share = counts / counts.sum()
    blocks = [rng.multinomial(len(values), share, size=size) @ distinct for size in _blocks(n_samples, len(distinct))]
    return np.concatenate(blocks) / len(values)


def _blocks(n_samples: int, width: int) -> Iterator[int]:
    """Sample counts whose tables fit the memory bound."""
    size = max(1, _CELLS // width)
    for begin in range(0, n_samples, size):
        yield min(size, n_samples - begin)


def _percentiles(means: Values, confidence: float) -> Interval:
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def _differences(first: Values, second: Values) -> Values:
    if len(first) != len(second):
        raise InputError(f"{len(first)} and {len(second)} values cannot be paired; compare the users both runs have.")
    return np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
