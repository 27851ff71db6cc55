from __future__ import annotations

import numpy as np

from sidrec.sids.input_space import InputSpace


def correlated(n: int = 300) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, 4)) @ rng.normal(size=(4, 6)) + 3).astype(np.float32)


def test_whitened_axes_have_unit_variance_and_no_correlation() -> None:
    vectors = correlated()
    inputs = InputSpace.fit(vectors, 4, whiten=True).apply(vectors)
    assert np.allclose(np.cov(inputs.T), np.eye(4), atol=1e-3)


def test_inverse_restores_what_the_axes_hold() -> None:
    vectors = correlated()
    for pca, whiten in [(4, True), (4, False), (None, False)]:
        space = InputSpace.fit(vectors, pca, whiten)
        assert np.allclose(space.invert(space.apply(vectors)), vectors, atol=1e-3)


def test_more_axes_than_the_vectors_have_are_cut() -> None:
    vectors = correlated()
    assert InputSpace.fit(vectors, 128, whiten=True).apply(vectors).shape == (300, 4)


def test_identical_vectors_pass_unchanged() -> None:
    same = np.ones((5, 3), np.float32)
    assert (InputSpace.fit(same, 2, whiten=True).apply(same) == same).all()


def test_state_brings_it_back() -> None:
    vectors = correlated()
    space = InputSpace.fit(vectors, 3, whiten=True)
    assert (InputSpace.from_state(space.state()).apply(vectors) == space.apply(vectors)).all()
    assert InputSpace.from_state({}).projection is None
