"""PCA by the singular values of the whole centred table, one line of algebra at a time."""

from __future__ import annotations

import numpy as np


def principal_axes(vectors: np.ndarray, n_components: int, whiten: bool) -> np.ndarray:
    """The projected rows; each axis points where its largest entry is positive."""
    centred = vectors.astype(np.float64) - vectors.astype(np.float64).mean(axis=0)
    _, singular, axes = np.linalg.svd(centred, full_matrices=False)
    columns = []
    for axis, length in list(zip(axes, singular, strict=True))[:n_components]:
        signed = axis if axis[np.abs(axis).argmax()] > 0 else -axis
        deviation = length / np.sqrt(len(vectors) - 1)
        columns.append(centred @ signed / (deviation if whiten else 1.0))
    return np.stack(columns, axis=1)
