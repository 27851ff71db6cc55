"""Raw vectors in blocks: on disk where a killed job should go on where it stopped, else in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import ArtifactError
from sidrec.embeddings.vector_file import open_vectors, save_vectors

SHARD_SIZE = 2048


class Shards:
    """Block k holds the rows from k * size on; a block is there whole or not at all."""

    def __init__(self, n_rows: int, directory: Path | None = None, size: int = SHARD_SIZE) -> None:
        self.n_rows, self.size, self._directory = n_rows, size, directory
        self._memory: dict[int, NDArray[np.float32]] = {}
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)

    def __len__(self) -> int:
        return (self.n_rows + self.size - 1) // self.size

    def rows(self, shard: int) -> slice:
        return slice(shard * self.size, min((shard + 1) * self.size, self.n_rows))

    def get(self, shard: int) -> NDArray[np.float32] | None:
        """The block; None where it was not finished."""
        if self._directory is None:
            return self._memory.get(shard)
        try:
            block = open_vectors(self._file(self._directory, shard))
        except (OSError, ArtifactError):
            return None
        rows = self.rows(shard)
        return block if len(block) == rows.stop - rows.start else None

    def put(self, shard: int, block: NDArray[np.float32]) -> None:
        if self._directory is None:
            self._memory[shard] = block
            return
        file = self._file(self._directory, shard)
        unfinished = file.with_suffix(".unfinished")
        save_vectors(unfinished, block)
        unfinished.replace(file)

    def __iter__(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """(rows, block) of every finished block, in order."""
        for shard in range(len(self)):
            block = self.get(shard)
            if block is not None:
                yield self.rows(shard), block

    @staticmethod
    def _file(directory: Path, shard: int) -> Path:
        return directory / f"{shard:06d}.safetensors"
