"""Vectors as they come from an encoder or a file, in blocks, and their way onto the items' rows.

Blocks lie on disk where a killed job should go on where it stopped, else in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import ArtifactError
from sidrec.core.progress import Progress, ProgressTask
from sidrec.embeddings.base import Encoder, EncoderState
from sidrec.embeddings.given_vectors import check_finite
from sidrec.embeddings.item_embeddings import mean_vector
from sidrec.embeddings.projection import Projection
from sidrec.embeddings.vector_file import create_vectors, open_vectors

BLOCK_SIZE = 2048
Encoding = Callable[[EncoderState | None, Sequence[tuple[int, list[str]]]], Iterator[tuple[int, NDArray[np.float32]]]]
"""Encodes numbered blocks of texts somewhere else, by an encoder that learned this, and gives them in any order."""


class Blocks:
    """Block k holds the rows from k * size on; a block is there whole or not at all."""

    def __init__(self, n_rows: int, directory: Path | None = None, size: int = BLOCK_SIZE) -> None:
        self.n_rows, self.size, self._directory = n_rows, size, directory
        self._memory: dict[int, NDArray[np.float32]] = {}
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)

    def __len__(self) -> int:
        return (self.n_rows + self.size - 1) // self.size

    def rows(self, block: int) -> slice:
        return slice(block * self.size, min((block + 1) * self.size, self.n_rows))

    def get(self, block: int) -> NDArray[np.float32] | None:
        """The block; None where it was not finished."""
        if self._directory is None:
            return self._memory.get(block)
        try:
            vectors = open_vectors(self._file(self._directory, block))
        except ArtifactError:
            return None
        rows = self.rows(block)
        return vectors if len(vectors) == rows.stop - rows.start else None

    def put(self, block: int, vectors: NDArray[np.float32]) -> None:
        if self._directory is None:
            self._memory[block] = vectors
            return
        file = self._file(self._directory, block)
        unfinished = file.with_suffix(".unfinished")
        with unfinished.open("wb") as opened:
            np.save(opened, vectors)
        unfinished.replace(file)

    def __iter__(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """(rows, vectors) of every finished block, in order."""
        for block in range(len(self)):
            vectors = self.get(block)
            if vectors is not None:
                yield self.rows(block), vectors

    @staticmethod
    def _file(directory: Path, block: int) -> Path:
        return directory / f"{block:06d}.npy"


@dataclass(frozen=True)
class RawVectors:
    """`row_of` has each item's row, -1 for an item without text; items with equal text share a row."""

    blocks: Blocks
    row_of: NDArray[np.int64]
    state: EncoderState | None = None

    def weighted(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """(vectors, how many items stand on each row), block by block."""
        counts = np.bincount(self.row_of[self.row_of >= 0], minlength=self.blocks.n_rows)
        for rows, vectors in self.blocks:
            yield vectors, counts[rows]

    def all_equal(self) -> bool:
        """Whether every vector is the same one, so that nothing can tell the items apart."""
        first = next(iter(self.blocks))[1][0]
        return all(bool((vectors == first).all()) for _, vectors in self.blocks)

    def by_item(self, projection: Projection | None, missing: str, file: Path | None) -> NDArray[np.float32]:
        """One projected row per item; with `file` the rows go there, block by block.

        Items without text get the mean of the others, or zeros where `missing` is "zero".
        """
        first = next(iter(self.blocks))[1]
        shape = len(self.row_of), first.shape[1] if projection is None else len(projection.scale)
        found = np.empty(shape, dtype=np.float32) if file is None else create_vectors(file, *shape)
        items_by_row = np.argsort(self.row_of, kind="stable")
        sorted_rows = self.row_of[items_by_row]
        for rows, vectors in self.blocks:
            projected = vectors if projection is None else projection.apply(vectors)
            begin, end = np.searchsorted(sorted_rows, [rows.start, rows.stop])
            items = items_by_row[begin:end]
            found[items] = projected[self.row_of[items] - rows.start]
        silent = self.row_of < 0
        if silent.any():
            found[silent] = 0 if missing == "zero" else mean_vector(found, ~silent)
        if isinstance(found, np.memmap):
            found.flush()
        return found


def raw_from_array(vectors: NDArray[np.float32]) -> RawVectors:
    """One row per item."""
    blocks = Blocks(len(vectors))
    for block in range(len(blocks)):
        blocks.put(block, vectors[blocks.rows(block)])
    return RawVectors(blocks, np.arange(len(vectors)))


def raw_from_texts(
    item_ids: Sequence[str],
    texts: Sequence[str],
    encoder: Encoder,
    directory: Path | None,
    progress: Progress,
    elsewhere: Encoding | None = None,
) -> RawVectors:
    """Encode every different text once; with `directory` finished blocks are kept there and not made again."""
    row_of, distinct = _distinct(texts)
    names = {row: item_id for item_id, row in zip(reversed(item_ids), reversed(row_of.tolist()), strict=True)}
    encoder.fit(distinct)
    blocks = Blocks(len(distinct), directory)
    missing = [block for block in range(len(blocks)) if blocks.get(block) is None]
    pieces = [(block, distinct[blocks.rows(block)]) for block in missing]
    with progress.task("embedding texts", total=len(distinct)) as task:
        task.advance(len(distinct) - sum(len(piece) for _, piece in pieces))
        for block, vectors in _here(encoder, pieces, task) if elsewhere is None else elsewhere(encoder.state(), pieces):
            rows = range(len(distinct))[blocks.rows(block)]
            check_finite(vectors, [names[row] for row in rows], "the encoder")
            blocks.put(block, vectors)
            if elsewhere is not None:
                task.advance(len(rows))
    return RawVectors(blocks, row_of, encoder.state())


def _here(
    encoder: Encoder, pieces: Sequence[tuple[int, list[str]]], task: ProgressTask
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    for block, texts in pieces:
        vectors = np.empty((len(texts), encoder.width), dtype=np.float32)
        for which, encoded in encoder.batches(texts):
            vectors[which] = encoded
            task.advance(len(which))
        yield block, vectors


def _distinct(texts: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Each item's row among the different texts, in order of first appearance; -1 for the empty text."""
    rows: dict[str, int] = {"": -1}
    row_of = np.fromiter((rows.setdefault(text, len(rows) - 1) for text in texts), np.int64, len(texts))
    return row_of, [text for text in rows if text]
