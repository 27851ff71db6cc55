from __future__ import annotations

import numpy as np
import pytest

from reference.principal_axes import principal_axes
from sidrec.core.errors import InputError, SettingsError
from sidrec.embeddings.projection import fit_projection


def blocks_of(vectors, size=7):
    def blocks():
        for start in range(0, len(vectors), size):
            part = vectors[start : start + size]
            yield part, np.ones(len(part), dtype=np.int64)

    return blocks


@pytest.fixture
def vectors():
    random = np.random.default_rng(3)
    return (random.normal(size=(60, 6)) @ random.normal(size=(6, 6)) + 5).astype(np.float32)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("n_components", [1, 4, 6])
def test_blocks_give_what_one_svd_gives(vectors, n_components, whiten):
    projected = fit_projection(blocks_of(vectors), n_components, whiten).apply(vectors)
    np.testing.assert_allclose(projected, principal_axes(vectors, n_components, whiten), atol=2e-4)


def test_whitened_vectors_have_the_identity_as_covariance(vectors):
    projected = fit_projection(blocks_of(vectors), 6, whiten=True).apply(vectors)
    np.testing.assert_allclose(np.cov(projected.T), np.eye(6), atol=1e-4)


def test_a_row_of_weight_three_counts_as_three_rows(vectors):
    weights = np.where(np.arange(60) % 2, 3, 1)
    weighted = fit_projection(lambda: [(vectors, weights)], 3, whiten=True)
    repeated = fit_projection(blocks_of(np.repeat(vectors, weights, axis=0)), 3, whiten=True)
    np.testing.assert_allclose(weighted.apply(vectors), repeated.apply(vectors), atol=1e-4)


def test_a_line_by_hand():
    points = np.array([[0, 0], [3, 4], [6, 8]], dtype=np.float32)  # all on one line, 5 apart
    projection = fit_projection(blocks_of(points), 2, whiten=False)
    np.testing.assert_allclose(projection.components, [[0.6, 0.8]], atol=1e-6)
    np.testing.assert_allclose(projection.apply(points), [[-5], [0], [5]], atol=1e-5)


def test_refusals(vectors):
    with pytest.raises(SettingsError, match="pca = 7, but the vectors have only 6 numbers"):
        fit_projection(blocks_of(vectors), 7, whiten=False)
    with pytest.raises(InputError, match="all vectors are identical"):
        fit_projection(blocks_of(np.ones((5, 3), np.float32)), 2, whiten=True)
    with pytest.raises(InputError, match=r"shape \(2, 5\) do not fit a projection made for width 6"):
        fit_projection(blocks_of(vectors), 2, whiten=True).apply(np.zeros((2, 5), np.float32))
