"""PCA with optional whitening, fitted block by block so that the vectors never have to be in memory together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import InputError, SettingsError

Blocks = Callable[[], Iterable[tuple[NDArray[np.float32], NDArray[np.int64]]]]
"""Starts a pass over (vectors, how many items each row stands for)."""
_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Projection:
    """y = ((x - mean) @ components.T) * scale; `scale` is 1 without whitening, 1 / standard deviation with it."""

    mean: NDArray[np.float32]  # (width,)
    components: NDArray[np.float32]  # (n_components, width)
    scale: NDArray[np.float32]  # (n_components,)

    def apply(self, raw: NDArray[np.float32]) -> NDArray[np.float32]:
        if raw.ndim != 2 or raw.shape[1] != len(self.mean):
            raise InputError(f"vectors of shape {raw.shape} do not fit a projection made for width {len(self.mean)}.")
        return np.asarray(((raw - self.mean) @ self.components.T) * self.scale, dtype=np.float32)


def fit_projection(blocks: Blocks, n_components: int, whiten: bool) -> Projection:
    """The leading principal axes; fewer than asked where the vectors have fewer independent directions."""
    mean, covariance = _moments(blocks)
    if n_components > len(mean):
        raise SettingsError(
            f"pca = {n_components}, but the vectors have only {len(mean)} numbers; choose a smaller pca."
        )
    variances, axes = np.linalg.eigh(covariance)
    variances, axes = variances[::-1], axes.T[::-1]
    rank = int((variances > _RANK_TOLERANCE * max(float(np.trace(covariance)), 1e-30)).sum())
    if rank == 0:
        raise InputError(
            "all vectors are identical, so PCA has no direction to keep; check the item text or leave pca out."
        )
    kept = min(n_components, rank)
    scale = 1 / np.sqrt(variances[:kept]) if whiten else np.ones(kept)
    components = _signed(axes[:kept])
    return Projection(mean.astype(np.float32), components.astype(np.float32), scale.astype(np.float32))


def _moments(blocks: Blocks) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and sample covariance in double precision; the second pass is centred, so nothing cancels."""
    sums = [(weights @ vectors.astype(np.float64), int(weights.sum())) for vectors, weights in blocks()]
    count = sum(weight for _, weight in sums)
    mean = np.asarray(sum(total for total, _ in sums)) / count
    covariance = np.zeros((len(mean), len(mean)))
    for vectors, weights in blocks():
        centred = vectors.astype(np.float64) - mean
        covariance += centred.T @ (centred * weights[:, None])
    return mean, covariance / max(count - 1, 1)


def _signed(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """An axis and its opposite are equally right: the entry of largest size is made positive."""
    largest = np.abs(axes).argmax(axis=1)
    signs = np.sign(axes[np.arange(len(axes)), largest])
    return np.asarray(axes * signs[:, None])
