from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.embeddings.assemble import assemble
from sidrec.embeddings.item_embeddings import VECTORS_FILE
from sidrec.embeddings.projection import Projection
from sidrec.embeddings.raw_vectors import RawVectors
from sidrec.embeddings.shards import Shards
from sidrec.embeddings.vector_file import open_vectors


def raw_vectors(rows, row_of, size=2):
    shards = Shards(len(rows), size=size)
    for shard in range(len(shards)):
        shards.put(shard, rows[shards.rows(shard)])
    return RawVectors(shards, np.array(row_of, dtype=np.int64))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=20), st.integers(1, 8))
def test_every_item_gets_the_row_it_stands_on(row_of, size):
    rows = np.arange(14, dtype=np.float32).reshape(7, 2)
    np.testing.assert_array_equal(assemble(raw_vectors(rows, row_of, size), None, "mean", None), rows[row_of])


@pytest.mark.parametrize(("missing", "fills"), [("mean", [5, 0]), ("zero", [0, 0])])
def test_silent_items_are_filled_after_the_projection(tmp_path, missing, fills):
    rows = np.array([[1, 10], [2, 20]], dtype=np.float32)
    swap = Projection(
        np.array([0, 15], np.float32), np.array([[0, 1], [1, 0]], np.float32), np.array([1, 0], np.float32)
    )
    raw = raw_vectors(rows, [1, -1, 1, 1])
    vectors = assemble(raw, swap, missing, tmp_path)
    np.testing.assert_array_equal(vectors, [[5, 0], fills, [5, 0], [5, 0]])
    np.testing.assert_array_equal(open_vectors(tmp_path / VECTORS_FILE), vectors)
