from __future__ import annotations

import numpy as np
import pytest

from sidrec.sids.kmeans import kmeans


def test_finds_heaps() -> None:
    heaps = np.array([[0, 0], [10, 0], [0, 10], [10, 10]], np.float32)
    points = np.repeat(heaps, 50, axis=0) + np.random.default_rng(0).normal(0, 0.01, (200, 2)).astype(np.float32)
    centres = kmeans(points, 4, seed=0)
    away = np.linalg.norm(heaps[:, None] - centres[None], axis=2)  # (heaps, centres)
    assert away.min(axis=1).max() < 0.1


@pytest.mark.parametrize("n_points", [1, 3, 30])
def test_few_distinct_points_are_centres_themselves(n_points: int) -> None:
    points = np.arange(3, dtype=np.float32)[:, None].repeat(2, axis=1)[np.arange(n_points) % 3]
    centres = kmeans(points, 5, seed=1)
    assert centres.shape == (5, 2)
    assert len(np.unique(centres, axis=0)) == 5
    for point in np.unique(points, axis=0):
        assert (centres == point).all(axis=1).any()


def test_same_seed_same_centres() -> None:
    points = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    assert (kmeans(points, 8, seed=3) == kmeans(points, 8, seed=3)).all()


def test_seeds_of_any_size_are_taken():
    points = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    assert kmeans(points, 4, seed=2**63 - 1).shape == (4, 2)
    assert kmeans(points[:3], 4, seed=2**63 - 1).shape == (4, 2)
    np.testing.assert_array_equal(kmeans(points, 4, seed=5), kmeans(points, 4, seed=5 + 2**31))
