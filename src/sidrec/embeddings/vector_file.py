"""One float32 matrix in one .npy file, written and read through a memory map: a million rows cost no memory."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from sidrec.core.checked_files import damaged, read_tensors, reason


def create_vectors(file: Path, n_rows: int, width: int) -> NDArray[np.float32]:
    """A new file to be filled row by row; `flush()` when done."""
    vectors = open_memmap(file, "w+", np.float32, (n_rows, width))
    # a disk that is full says so here; in the middle of a memory map it would end the process (macOS has no such call)
    with file.open("rb+") as opened, suppress(AttributeError):
        os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)
    return vectors


def open_vectors(file: Path, *, version_0_1: bool = False) -> NDArray[np.float32]:
    """The matrix, read from disk as it is touched; writing to it changes memory only, never the file."""
    vectors = _read_safetensors(file) if version_0_1 else _map(file)
    if vectors.dtype != np.float32 or vectors.ndim != 2 or not vectors.shape[1]:
        raise damaged(file, "holds no table of float32 numbers")
    return vectors


def _map(file: Path) -> NDArray[np.float32]:
    try:
        return np.asarray(open_memmap(file, "c"))
    except Exception as error:  # a parser that is lied to may raise anything
        raise damaged(file, f"is not a readable .npy file ({reason(error)})") from None


def _read_safetensors(file: Path) -> NDArray[np.float32]:
    """What version 0.1 wrote."""
    tensors = read_tensors(file)
    if "vectors" not in tensors:
        raise damaged(file, "has no tensor called vectors")
    return tensors["vectors"]
