"""k-means with faiss that also takes fewer points than centres."""

from __future__ import annotations

import faiss
import numpy as np
from numpy.typing import NDArray

_POINTS_PER_CENTRE = 128


def kmeans(points: NDArray[np.float32], n_centres: int, seed: int, n_rounds: int = 25) -> NDArray[np.float32]:
    """Centres (n_centres, width); large sets are sampled, at most 128 points per centre.

    Where there are no more distinct points than centres, the points themselves are centres, and the others stand close
    beside them: every centre is a place an item can be moved to.
    """
    points = np.ascontiguousarray(points, dtype=np.float32)
    sample = points[: n_centres * 4] if len(points) > n_centres * 4 else points
    distinct = np.unique(sample, axis=0)
    if len(distinct) <= n_centres:
        distinct = np.unique(points, axis=0)
    if len(distinct) <= n_centres:
        return _with_neighbours(distinct, n_centres, seed)
    trained = faiss.Kmeans(
        points.shape[1],
        n_centres,
        niter=n_rounds,
        seed=(seed + 1) % 2**31,
        min_points_per_centroid=1,
        max_points_per_centroid=_POINTS_PER_CENTRE,
    )
    trained.train(points)
    return np.array(trained.centroids, dtype=np.float32)


def _with_neighbours(points: NDArray[np.float32], n_centres: int, seed: int) -> NDArray[np.float32]:
    missing = n_centres - len(points)
    copies = points[np.arange(missing) % len(points)]
    step = 0.01 * (float(points.std()) or float(np.abs(points).max()) or 1.0)
    noise = np.random.default_rng(seed).normal(0, step, copies.shape)
    return np.concatenate([points, (copies + noise).astype(np.float32)])
