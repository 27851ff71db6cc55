from __future__ import annotations

import numpy as np

from reference.letters_encoder import LettersEncoder
from sidrec.core.progress import SilentProgress
from sidrec.embeddings.raw_vectors import raw_from_array, raw_from_texts


def read(texts):
    return raw_from_texts([str(item) for item in range(len(texts))], texts, LettersEncoder(), None, SilentProgress())


def test_items_with_equal_text_share_a_row_and_weigh_double():
    raw = read(["ab", "", "c", "ab", ""])
    assert raw.row_of.tolist() == [0, -1, 1, 0, -1]
    [(vectors, weights)] = raw.blocks()
    np.testing.assert_array_equal(vectors, [[1, 1, 0], [0, 0, 1]])
    assert weights.tolist() == [2, 1]


def test_only_vectors_that_are_all_the_same_are_all_equal():
    assert read(["ab", "ba"]).all_equal()
    assert not read(["ab", "c"]).all_equal()
    table = np.ones((5000, 2), dtype=np.float32)
    assert raw_from_array(table).all_equal()
    table[-1, 1] = 2
    assert not raw_from_array(table).all_equal()


def test_an_array_has_one_row_per_item():
    table = np.arange(10_000, dtype=np.float32).reshape(5000, 2)
    raw = raw_from_array(table)
    assert len(raw.shards) == 3
    np.testing.assert_array_equal(np.concatenate([block for block, _ in raw.blocks()]), table)
    assert all((weights == 1).all() for _, weights in raw.blocks())
