"""Vectors as they come from an encoder or a file, before any projection: blocks, and which item stands on which row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sidrec.core.progress import Progress
from sidrec.embeddings.base import Encoder, EncoderState
from sidrec.embeddings.given_vectors import check_finite
from sidrec.embeddings.shards import Shards


@dataclass(frozen=True)
class RawVectors:
    """`row_of` has each item's row, -1 for an item without text; items with equal text share a row."""

    shards: Shards
    row_of: NDArray[np.int64]
    state: EncoderState | None = None

    def blocks(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """(vectors, how many items stand on each row)."""
        counts = np.bincount(self.row_of[self.row_of >= 0], minlength=self.shards.n_rows)
        for rows, block in self.shards:
            yield block, counts[rows]

    def all_equal(self) -> bool:
        """Whether every vector is the same one, so that nothing can tell the items apart."""
        first = next(iter(self.shards))[1][0]
        return all(bool((block == first).all()) for _, block in self.shards)


def raw_from_array(vectors: NDArray[np.float32]) -> RawVectors:
    """One row per item."""
    shards = Shards(len(vectors))
    for shard in range(len(shards)):
        shards.put(shard, vectors[shards.rows(shard)])
    return RawVectors(shards, np.arange(len(vectors)))


def raw_from_texts(
    item_ids: Sequence[str], texts: Sequence[str], encoder: Encoder, directory: Path | None, progress: Progress
) -> RawVectors:
    """Encode every different text once; with `directory` finished blocks are kept there and not made again."""
    row_of, distinct = _distinct(texts)
    names = {row: item_id for item_id, row in zip(reversed(item_ids), reversed(row_of.tolist()), strict=True)}
    encoder.fit(distinct)
    shards = Shards(len(distinct), directory)
    with progress.task("embedding texts", total=len(distinct)) as task:
        for shard in range(len(shards)):
            rows = range(len(distinct))[shards.rows(shard)]
            if shards.get(shard) is not None:
                task.advance(len(rows))
                continue
            block = np.empty((len(rows), encoder.width), dtype=np.float32)
            for places, vectors in encoder.batches(distinct[shards.rows(shard)]):
                block[places] = vectors
                task.advance(len(places))
            check_finite(block, [names[row] for row in rows], "the encoder")
            shards.put(shard, block)
    return RawVectors(shards, row_of, encoder.state())


def _distinct(texts: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Each item's place among the different texts, in order of first appearance; -1 for the empty text."""
    places: dict[str, int] = {"": -1}
    row_of = np.fromiter((places.setdefault(text, len(places) - 1) for text in texts), np.int64, len(texts))
    return row_of, [text for text in places if text]
