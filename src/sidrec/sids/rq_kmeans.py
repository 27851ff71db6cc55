"""RQ-KMeans: k-means on the vectors, then on what is left of them, level by level."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from sidrec.core.progress import Progress
from sidrec.sids.base import Codes, State, Tokenizer, TokenizerSettings
from sidrec.sids.codebook import Codebooks
from sidrec.sids.inputs import Floats, TokenizerInputs


class RQKMeansSettings(TokenizerSettings):
    """RQ-KMeans has only what all tokenizers have."""


class RQKMeans(Tokenizer):
    """The first code is the coarsest; each further one refines it."""

    key: ClassVar[str] = "rq-kmeans"
    settings_class: ClassVar[type[TokenizerSettings]] = RQKMeansSettings
    _books: Codebooks

    def _fit(self, inputs: Floats, given: TokenizerInputs, progress: Progress, workdir: Path | None) -> None:  # noqa: ARG002
        self._books = Codebooks(self.codebook_sizes, inputs.shape[1])
        left = torch.from_numpy(inputs)
        with progress.task(self.key, total=len(self.codebook_sizes)) as task, torch.no_grad():
            for slot in range(len(self.codebook_sizes)):
                self._books.start_slot(slot, left, self.settings.seed + slot)
                chunks = torch.split(left, 65_536)
                codes = torch.cat([self._books.slot_distances(slot, chunk).argmin(-1) for chunk in chunks])
                left = left - self._books.vectors[slot, codes]
                task.advance(left=float(left.square().sum(1).mean()))

    @torch.no_grad()
    def _encode(self, inputs: Floats) -> Codes:
        return self._books.residual(torch.from_numpy(inputs)).codes.numpy().astype(np.int32)

    @torch.no_grad()
    def _code_distances(self, inputs: Floats, codes: Codes) -> Floats:
        distances = self._books.residual_distances(torch.from_numpy(inputs), torch.from_numpy(codes).long())
        return distances.numpy()

    @torch.no_grad()
    def _reconstruct(self, codes: Codes) -> Floats:
        return self._books.take(torch.from_numpy(codes).long()).sum(1).numpy()

    def _state(self) -> dict[str, NDArray[np.float32]]:
        return {"codebooks": self._books.vectors.detach().numpy()}

    def _restore(self, state: State) -> None:
        vectors = torch.from_numpy(state["codebooks"])
        self._books = Codebooks(self.codebook_sizes, vectors.shape[-1])
        self._books.load_state_dict({"vectors": vectors}, strict=False)
