"""The space item vectors live in: all that is needed to put a new item's text into it later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidrec.core.artifacts import write_json
from sidrec.core.errors import ArtifactError
from sidrec.embeddings.base import EncoderState
from sidrec.embeddings.projection import Projection

WORDS_FILE = "embedding_space.json"
NUMBERS_FILE = "embedding_space.safetensors"
_PROJECTION = ("mean", "components", "scale")


@dataclass(frozen=True)
class EmbeddingSpace:
    """`settings` are the plain values of EmbeddingSettings; `missing_vector` stands for an item without text."""

    settings: Mapping[str, Any]
    missing_vector: NDArray[np.float32]
    projection: Projection | None = None
    state: EncoderState | None = None

    @property
    def width(self) -> int:
        return len(self.missing_vector)

    def write_files(self, directory: Path) -> None:
        """Two files that any artefact may hold beside its own (semantic IDs, models)."""
        from safetensors.numpy import save_file

        numbers = {"missing_vector": self.missing_vector}
        if self.projection is not None:
            numbers |= {f"projection.{name}": getattr(self.projection, name) for name in _PROJECTION}
        if self.state is not None:
            numbers |= {f"encoder.{name}": array for name, array in self.state.arrays.items()}
        # safetensors writes the buffer as it lies in memory, so a transposed view would be scrambled
        save_file({name: np.ascontiguousarray(array) for name, array in numbers.items()}, directory / NUMBERS_FILE)
        words = None if self.state is None else self.state.words
        write_json(directory / WORDS_FILE, {"settings": dict(self.settings), "encoder_words": words})

    @classmethod
    def read_files(cls, directory: Path) -> EmbeddingSpace:
        """What `write_files` wrote; the artefact around it has verified the files."""
        from safetensors.numpy import load_file

        try:
            facts = json.loads((Path(directory) / WORDS_FILE).read_text(encoding="utf-8"))
            numbers = load_file(Path(directory) / NUMBERS_FILE)
        except FileNotFoundError as error:
            raise ArtifactError(f"{error.filename}: missing; make the embeddings again with `sidrec embed`.") from None
        parts = [numbers.get(f"projection.{name}") for name in _PROJECTION]
        projection = None if any(part is None for part in parts) else Projection(*parts)  # type: ignore[arg-type]
        learned = {name.removeprefix("encoder."): array for name, array in numbers.items() if name[:8] == "encoder."}
        words = facts["encoder_words"]
        state = None if words is None else EncoderState(words, learned)
        return cls(facts["settings"], numbers["missing_vector"], projection, state)
