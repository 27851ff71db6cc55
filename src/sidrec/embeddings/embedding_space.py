"""The space item vectors live in: all that is needed to put a new item's text into it later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidrec.core.artifacts import Artifact, write_json
from sidrec.core.checked_files import damaged, read_json, read_tensors
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

    @property
    def encoder_width(self) -> int:
        """Numbers of a vector before it is projected."""
        return self.width if self.projection is None else len(self.projection.mean)

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
    def read_files(cls, artifact: Artifact, folder: str = "") -> EmbeddingSpace:
        """What `write_files` wrote into the artefact or one of its folders."""
        inside = PurePosixPath(folder)
        file = artifact.file((inside / NUMBERS_FILE).as_posix())
        facts, numbers = read_json(artifact.file((inside / WORDS_FILE).as_posix()), _Facts), read_tensors(file)
        for name, array in numbers.items():
            if array.dtype != np.float32 or array.ndim != (2 if name.endswith("components") else 1):
                raise damaged(file, f"{name} has the wrong kind or shape ({array.dtype} {array.shape})")
            if not np.isfinite(array).all():
                raise damaged(file, f"{name} holds NaN or infinity")
        if not len(numbers.get("missing_vector", ())):
            raise damaged(file, "has no missing_vector")
        learned = {name.removeprefix("encoder."): array for name, array in numbers.items() if name[:8] == "encoder."}
        state = None if facts.encoder_words is None else EncoderState(facts.encoder_words, learned)
        space = cls(facts.settings, numbers["missing_vector"], _projection(numbers, file), state)
        if "components" in learned and len(learned["components"]) != space.encoder_width:
            raise damaged(file, f"its encoder gives {len(learned['components'])} numbers, not {space.encoder_width}")
        return space


@dataclass(frozen=True)
class _Facts:
    settings: dict[str, Any]
    encoder_words: list[str] | None


def _projection(numbers: Mapping[str, NDArray[np.float32]], file: Path) -> Projection | None:
    parts = [numbers[f"projection.{name}"] for name in _PROJECTION if f"projection.{name}" in numbers]
    if not parts:
        return None
    if len(parts) == len(_PROJECTION):
        mean, components, scale = parts
        if components.shape == (len(scale), len(mean)) and len(scale) == len(numbers["missing_vector"]):
            return Projection(mean, components, scale)
    raise damaged(file, "holds a projection whose parts do not fit together")
