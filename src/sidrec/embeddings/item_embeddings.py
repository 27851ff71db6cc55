"""One vector per catalogue item, with what is needed to embed further items the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.artifacts import Artifact, Origin, opened, write
from sidrec.core.checked_files import damaged
from sidrec.core.checked_tables import read_table
from sidrec.core.replacing import replacing
from sidrec.data.schema import ITEM_ID
from sidrec.embeddings.base import EncoderState
from sidrec.embeddings.embedding_space import EmbeddingSpace
from sidrec.embeddings.projection import Projection
from sidrec.embeddings.vector_file import open_vectors

VECTORS_FILE = "vectors.npy"
VECTORS_FILE_0_1 = "vectors.safetensors"
ITEMS_FILE = "items.parquet"


@dataclass(frozen=True)
class ItemEmbeddings:
    """Row i belongs to item i of the catalogue; `source` is the encoder, file or model the vectors come from."""

    item_ids: list[str]
    vectors: NDArray[np.float32]  # (n_items, width)
    missing_text: NDArray[np.bool_]  # (n_items,)
    source: str = "given"
    projection: Projection | None = None
    fingerprint: str = ""
    settings: Mapping[str, Any] = field(default_factory=lambda: {"encoder": "given"})
    state: EncoderState | None = None
    path: Path | None = field(default=None, compare=False)
    """The directory they were read from."""

    def __repr__(self) -> str:
        silent = int(self.missing_text.sum())
        note = f", {silent:,} of them without text" if silent else ""
        return f"ItemEmbeddings({self.n_items:,} items{note}, {self.width} numbers each, from {self.source})"

    @property
    def n_items(self) -> int:
        return len(self.item_ids)

    @property
    def width(self) -> int:
        return int(self.vectors.shape[1])

    def space(self) -> EmbeddingSpace:
        """What a semantic-ID or model artefact has to keep in order to embed new items later."""
        zero = self.settings.get("missing") == "zero"
        missing = np.zeros(self.width, np.float32) if zero else mean_vector(self.vectors, ~self.missing_text)
        return EmbeddingSpace(self.settings, missing, self.projection, self.state)

    def save(self, path: Path | str, *, replace: bool = False) -> Path:
        """Write as an artefact of kind "embeddings"; another one is replaced only with `replace`."""
        origin = Origin("embeddings", self.settings, made_from={"content": self.fingerprint})
        with replacing(replace), write(Path(path), origin) as directory:
            np.save(directory / VECTORS_FILE, self.vectors)
            self.write_facts(directory)
        return Path(path)

    def write_facts(self, directory: Path) -> None:
        """Everything but the vectors."""
        items = {ITEM_ID: self.item_ids, "missing_text": self.missing_text, "source": [self.source] * self.n_items}
        pl.DataFrame(items).write_parquet(directory / ITEMS_FILE)
        self.space().write_files(directory)

    @classmethod
    def load(cls, path: Path) -> ItemEmbeddings:
        with opened(Path(path), "embeddings") as artifact:
            return cls.from_artifact(artifact)

    @classmethod
    def from_artifact(cls, artifact: Artifact) -> ItemEmbeddings:
        """The vectors stay on disk until they are touched."""
        file = artifact.file(ITEMS_FILE)
        items = read_table(file, {ITEM_ID: "id", "missing_text": "flag", "source": "text"})
        old = artifact.has(VECTORS_FILE_0_1)
        vectors = open_vectors(artifact.file(VECTORS_FILE_0_1 if old else VECTORS_FILE), version_0_1=old)
        space = EmbeddingSpace.read_files(artifact)
        if len(vectors) != items.height or vectors.shape[1] != space.width:
            raise damaged(file, f"{items.height} items and a space of {space.width} for vectors {vectors.shape}")
        return cls(
            item_ids=items[ITEM_ID].to_list(),
            vectors=vectors,
            missing_text=items["missing_text"].to_numpy().astype(bool),
            source=str(items["source"][0]) if items.height else "given",
            projection=space.projection,
            fingerprint=artifact.fingerprint,
            settings=space.settings,
            state=space.state,
            path=artifact.path,
        )


def mean_vector(vectors: NDArray[np.float32], rows: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The mean of the chosen rows, added up in double precision; zero where none is chosen."""
    if not rows.any():
        return np.zeros(vectors.shape[1], np.float32)
    return np.asarray(np.mean(vectors, axis=0, dtype=np.float64, where=rows[:, None]), dtype=np.float32)
