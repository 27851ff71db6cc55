"""The last step to item vectors: raw blocks projected and put on their items' rows, in memory or straight on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sidrec.embeddings.item_embeddings import VECTORS_FILE, mean_vector
from sidrec.embeddings.projection import Projection
from sidrec.embeddings.raw_vectors import RawVectors
from sidrec.embeddings.vector_file import create_vectors


def assemble(
    raw: RawVectors, projection: Projection | None, missing: str, directory: Path | None
) -> NDArray[np.float32]:
    """One row per item; with `directory` the rows go to its vectors file, block by block.

    Items without text get the mean of the others, or zeros where `missing` is "zero".
    """
    first = next(iter(raw.shards))[1]
    width = first.shape[1] if projection is None else len(projection.scale)
    vectors = _new_matrix(len(raw.row_of), width, directory)
    items_by_row = np.argsort(raw.row_of, kind="stable")
    sorted_rows = raw.row_of[items_by_row]
    for rows, block in raw.shards:
        placed = block if projection is None else projection.apply(block)
        begin, end = np.searchsorted(sorted_rows, [rows.start, rows.stop])
        items = items_by_row[begin:end]
        vectors[items] = placed[raw.row_of[items] - rows.start]
    silent = raw.row_of < 0
    if silent.any():
        vectors[silent] = 0 if missing == "zero" else mean_vector(vectors, ~silent)
    if isinstance(vectors, np.memmap):
        vectors.flush()
    return vectors


def _new_matrix(n_rows: int, width: int, directory: Path | None) -> NDArray[np.float32]:
    if directory is None:
        return np.empty((n_rows, width), dtype=np.float32)
    return create_vectors(directory / VECTORS_FILE, n_rows, width)
