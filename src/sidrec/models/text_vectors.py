"""Item text as vectors of one scale: the encoder's vectors on their whitened principal axes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from sidrec.core.artifacts import Artifact
from sidrec.core.checked_files import damaged, read_tensors, reason
from sidrec.data.catalog import Catalog
from sidrec.embeddings.embed import embed_new
from sidrec.embeddings.embedding_space import EmbeddingSpace
from sidrec.embeddings.given_vectors import GivenVectors
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.models.growth import Growth
from sidrec.sids.input_space import InputSpace

FOLDER, NUMBERS_FILE = "text", "text.safetensors"
_VECTORS = "vectors"


@dataclass(frozen=True)
class TextVectors:
    """Row i belongs to item i; `axes` and `space` put the text of new items into the same room."""

    vectors: NDArray[np.float32]  # (n_items, width)
    axes: InputSpace
    space: EmbeddingSpace

    @classmethod
    def of(cls, embeddings: ItemEmbeddings, width: int) -> TextVectors:
        raw = np.asarray(embeddings.vectors, dtype=np.float32)
        axes = InputSpace.fit(raw, width, whiten=True)
        return cls(axes.apply(raw), axes, embeddings.space())

    def with_new_items(self, items: Catalog, given: GivenVectors | None = None) -> TextVectors:
        """The same with new items behind the old ones."""
        new = self.axes.apply(embed_new(items, self.space, given=given))
        return replace(self, vectors=np.concatenate([self.vectors, new]))

    def grown(self, growth: Growth, given: GivenVectors | None = None) -> TextVectors:
        """For another catalogue of the shop: items that have a vector keep it."""
        text = self.with_new_items(growth.new, given) if len(growth.new) else self
        return replace(text, vectors=text.vectors[growth.rows])

    def write_files(self, directory: Path) -> None:
        folder = directory / FOLDER
        folder.mkdir()
        arrays = {_VECTORS: self.vectors, **self.axes.state()}
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / NUMBERS_FILE)
        self.space.write_files(folder)

    @classmethod
    def read_files(cls, artifact: Artifact) -> TextVectors | None:
        """None where none were written."""
        numbers = f"{FOLDER}/{NUMBERS_FILE}"
        if not artifact.has(numbers):
            return None
        file, space = artifact.file(numbers), EmbeddingSpace.read_files(artifact, FOLDER)
        try:  # on one vector: whatever does not fit together shows there, and may raise anything
            arrays = read_tensors(file)
            vectors, axes = arrays.pop(_VECTORS), InputSpace.from_state(arrays)
            like = axes.apply(space.missing_vector[None])
        except Exception as error:
            raise damaged(file, f"holds arrays that do not fit together ({reason(error)})") from None
        if vectors.dtype != np.float32 or vectors.shape[1:] != like.shape[1:] or not np.isfinite(vectors).all():
            raise damaged(file, f"its vectors {vectors.dtype} {vectors.shape} are not numbers of these axes")
        return cls(vectors, axes, space)
