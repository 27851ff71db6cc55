"""One float32 matrix in one safetensors file, written and read through a memory map: a million rows cost no memory."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import ArtifactError

NAME = "vectors"


def create_vectors(path: Path, n_rows: int, width: int) -> np.memmap[tuple[int, int], np.dtype[np.float32]]:
    """A new file to be filled row by row; `flush()` when done."""
    tensor = {"dtype": "F32", "shape": [n_rows, width], "data_offsets": [0, n_rows * width * 4]}
    header = json.dumps({NAME: tensor}).encode()
    header += b" " * (-len(header) % 8)  # the format wants aligned data
    with Path(path).open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + n_rows * width * 4)
    return np.memmap(path, np.float32, "r+", offset=8 + len(header), shape=(n_rows, width))


def save_vectors(path: Path, vectors: NDArray[np.float32]) -> None:
    file = create_vectors(path, *vectors.shape)
    file[:] = vectors
    file.flush()


def open_vectors(path: Path) -> NDArray[np.float32]:
    """The matrix, read from disk as it is touched; writing to it changes memory only, never the file."""
    try:
        with Path(path).open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            tensor = json.loads(file.read(length))[NAME]
        n_rows, width = tensor["shape"]
        return np.asarray(np.memmap(path, np.float32, "c", offset=8 + length, shape=(n_rows, width)))
    except (struct.error, ValueError, KeyError, TypeError, OverflowError, MemoryError):
        raise ArtifactError(f"{path}: is not a file of item vectors; make the embeddings again.") from None
