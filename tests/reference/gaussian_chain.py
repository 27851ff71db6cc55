"""A noising chain walked link by link, and Bayes' rule for two Gaussians, on single numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence


def walk(betas: Sequence[float], clean: float) -> tuple[float, float]:
    """Mean and variance after x_s = sqrt(1 - beta_s) x_{s-1} + sqrt(beta_s) noise for every beta."""
    mean, variance = clean, 0.0
    for beta in betas:
        mean, variance = math.sqrt(1 - beta) * mean, (1 - beta) * variance + beta
    return mean, variance


def bayes_posterior(betas: Sequence[float], to: int, noisy: float, clean: float) -> tuple[float, float]:
    """Mean and deviation of x_to given x_T and x_0, with T = len(betas).

    The prior is q(x_to | x_0); the likelihood of x_T is N(slope * x_to, spread) from the links between.
    """
    prior_mean, prior_variance = walk(betas[:to], clean)
    if prior_variance == 0:
        return prior_mean, 0.0
    slope, _ = walk(betas[to:], 1.0)
    _, spread = walk(betas[to:], 0.0)
    precision = 1 / prior_variance + slope**2 / spread
    return (prior_mean / prior_variance + slope * noisy / spread) / precision, precision**-0.5
