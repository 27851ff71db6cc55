"""OPQ: a learned rotation, then k-means in every slice of the rotated vectors."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import faiss
import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from sidrec.core.progress import Progress
from sidrec.sids.base import Codes, State, Tokenizer, TokenizerSettings
from sidrec.sids.codebook import Codebooks
from sidrec.sids.inputs import Floats, TokenizerInputs


class OPQSettings(TokenizerSettings):
    """Settings of OPQ."""

    rotation_rounds: int = Field(20, ge=0)
    """Rounds in which the rotation is fitted; 0 leaves the axes as they are (plain product quantisation)."""


class OPQ(Tokenizer):
    """Slices are padded with zeros where the width is no multiple of the number of codes."""

    key: ClassVar[str] = "opq"
    settings_class: ClassVar[type[TokenizerSettings]] = OPQSettings
    _books: Codebooks
    _rotation: NDArray[np.float32]  # (padded width, padded width)
    _inner: int

    def _fit(self, inputs: Floats, given: TokenizerInputs, progress: Progress, workdir: Path | None) -> None:  # noqa: ARG002
        self._inner = inputs.shape[1]
        slots = len(self.codebook_sizes)
        width = -(-self._inner // slots) * slots
        with progress.task(self.key, total=slots + 1) as task:
            self._rotation = self._fit_rotation(_padded(inputs, width))
            task.advance()
            self._books = Codebooks(self.codebook_sizes, width // slots)
            slices = self._slices(inputs)
            for slot in range(slots):
                self._books.start_slot(slot, slices[:, slot], self.settings.seed + slot)
                task.advance()

    def _fit_rotation(self, inputs: Floats) -> NDArray[np.float32]:
        """faiss fits it with codebooks of 2^bits codes: the largest that fit both our sizes and the items."""
        width, slots = inputs.shape[1], len(self.codebook_sizes)
        bits = int(np.log2(min(*self.codebook_sizes, len(inputs), 256)))
        rounds = getattr(self.settings, "rotation_rounds", 0)
        # with fewer items than axes a rotation means nothing, and faiss reads beyond its memory
        if rounds == 0 or bits == 0 or slots == 1 or len(inputs) < width or (inputs == inputs[0]).all():
            return np.eye(width, dtype=np.float32)
        matrix = faiss.OPQMatrix(width, slots)
        quantiser = faiss.ProductQuantizer(width, slots, bits)
        quantiser.cp.min_points_per_centroid = 1
        matrix.niter, matrix.pq = rounds, quantiser
        matrix.train(inputs)
        rotation: NDArray[np.float32] = faiss.vector_to_array(matrix.A).reshape(width, width)
        return rotation

    def _slices(self, inputs: Floats) -> Tensor:
        rotated = _padded(inputs, len(self._rotation)) @ self._rotation.T
        return torch.from_numpy(rotated).view(len(inputs), len(self.codebook_sizes), -1)

    @torch.no_grad()
    def _encode(self, inputs: Floats) -> Codes:
        return self._books.parallel(self._slices(inputs)).codes.numpy().astype(np.int32)

    @torch.no_grad()
    def _code_distances(self, inputs: Floats, codes: Codes) -> Floats:  # noqa: ARG002
        return self._books.distances(self._slices(inputs)).numpy()

    @torch.no_grad()
    def _reconstruct(self, codes: Codes) -> Floats:
        rotated = self._books.take(torch.from_numpy(codes).long()).flatten(1).numpy()
        restored: Floats = (rotated @ self._rotation)[:, : self._inner]
        return restored

    def _state(self) -> dict[str, NDArray[np.float32]]:
        inner = np.array([self._inner], np.float32)
        return {"codebooks": self._books.vectors.detach().numpy(), "rotation": self._rotation, "inner": inner}

    def _restore(self, state: State) -> None:
        vectors = torch.from_numpy(state["codebooks"])
        self._rotation, self._inner = state["rotation"], int(state["inner"][0])
        self._books = Codebooks(self.codebook_sizes, vectors.shape[-1])
        self._books.load_state_dict({"vectors": vectors}, strict=False)


def _padded(inputs: Floats, width: int) -> Floats:
    return np.ascontiguousarray(np.pad(inputs, ((0, 0), (0, width - inputs.shape[1]))))
