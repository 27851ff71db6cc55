"""The space a tokenizer works in: the item vectors as they are, or their leading principal axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidrec.embeddings.projection import Projection, fit_projection

_BLOCK = 65_536


@dataclass(frozen=True)
class InputSpace:
    """Axes of a PCA (whitened or not) with their inverse; without axes the vectors pass unchanged."""

    projection: Projection | None

    @classmethod
    def fit(cls, vectors: NDArray[np.float32], pca: int | None, whiten: bool) -> InputSpace:
        """At most `pca` axes; vectors that are all the same have no axes and stay as they are."""
        if pca is None or (vectors == vectors[0]).all():
            return cls(None)

        def blocks() -> Iterable[tuple[NDArray[np.float32], NDArray[np.int64]]]:
            for start in range(0, len(vectors), _BLOCK):
                block = vectors[start : start + _BLOCK]
                yield block, np.ones(len(block), dtype=np.int64)

        return cls(fit_projection(blocks, min(pca, vectors.shape[1]), whiten))

    def apply(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        return vectors if self.projection is None else self.projection.apply(vectors)

    def invert(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Back to the item vectors; what the left-out axes held is gone."""
        if self.projection is None:
            return inputs
        unscaled = inputs / self.projection.scale
        return np.asarray(unscaled @ self.projection.components + self.projection.mean, dtype=np.float32)

    def state(self) -> dict[str, NDArray[np.float32]]:
        if self.projection is None:
            return {}
        return {f"space.{name}": getattr(self.projection, name) for name in ("mean", "components", "scale")}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[np.float32]]) -> InputSpace:
        if "space.mean" not in state:
            return cls(None)
        return cls(Projection(state["space.mean"], state["space.components"], state["space.scale"]))
