from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.letters_encoder import LettersEncoder
from sidrec.core.progress import SilentProgress
from sidrec.embeddings.projection import Projection
from sidrec.embeddings.raw_vectors import Blocks, RawVectors, raw_from_array, raw_from_texts
from sidrec.embeddings.vector_file import open_vectors

ROWS = np.arange(10, dtype=np.float32).reshape(5, 2)


def read(texts):
    return raw_from_texts([str(item) for item in range(len(texts))], texts, LettersEncoder(), None, SilentProgress())


def test_items_with_equal_text_share_a_row_and_weigh_double():
    raw = read(["ab", "", "c", "ab", ""])
    assert raw.row_of.tolist() == [0, -1, 1, 0, -1]
    [(vectors, weights)] = raw.weighted()
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
    assert len(raw.blocks) == 3
    np.testing.assert_array_equal(np.concatenate([block for block, _ in raw.weighted()]), table)
    assert all((weights == 1).all() for _, weights in raw.weighted())


@pytest.fixture(params=["memory", "disk"])
def blocks(request, tmp_path):
    return Blocks(5, None if request.param == "memory" else tmp_path / "blocks", size=2)


def test_five_rows_in_blocks_of_two(blocks):
    assert len(blocks) == 3
    for block in (2, 0, 1):
        blocks.put(block, ROWS[blocks.rows(block)])
    found = list(blocks)
    assert [(rows.start, rows.stop) for rows, _ in found] == [(0, 2), (2, 4), (4, 5)]
    np.testing.assert_array_equal(np.concatenate([vectors for _, vectors in found]), ROWS)


def test_a_block_that_was_not_put_is_absent(blocks):
    blocks.put(1, ROWS[2:4])
    assert blocks.get(0) is None
    assert [rows.start for rows, _ in blocks] == [2]


def test_another_run_finds_the_finished_blocks_and_no_damaged_ones(tmp_path):
    first = Blocks(5, tmp_path, size=2)
    first.put(0, ROWS[:2])
    first.put(1, ROWS[2:4])
    file = tmp_path / "000001.npy"
    file.write_bytes(file.read_bytes()[:-1])
    again = Blocks(5, tmp_path, size=2)
    np.testing.assert_array_equal(again.get(0), ROWS[:2])
    assert again.get(1) is None
    assert again.get(2) is None


def in_blocks(rows, row_of, size=2):
    blocks = Blocks(len(rows), size=size)
    for block in range(len(blocks)):
        blocks.put(block, rows[blocks.rows(block)])
    return RawVectors(blocks, np.array(row_of, dtype=np.int64))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=20), st.integers(1, 8))
def test_every_item_gets_the_row_it_stands_on(row_of, size):
    rows = np.arange(14, dtype=np.float32).reshape(7, 2)
    np.testing.assert_array_equal(in_blocks(rows, row_of, size).by_item(None, "mean", None), rows[row_of])


@pytest.mark.parametrize(("missing", "fills"), [("mean", [5, 0]), ("zero", [0, 0])])
def test_silent_items_are_filled_after_the_projection(tmp_path, missing, fills):
    rows = np.array([[1, 10], [2, 20]], dtype=np.float32)
    swap = Projection(
        np.array([0, 15], np.float32), np.array([[0, 1], [1, 0]], np.float32), np.array([1, 0], np.float32)
    )
    raw = in_blocks(rows, [1, -1, 1, 1])
    vectors = raw.by_item(swap, missing, tmp_path / "v.npy")
    np.testing.assert_array_equal(vectors, [[5, 0], fills, [5, 0], [5, 0]])
    np.testing.assert_array_equal(open_vectors(tmp_path / "v.npy"), vectors)
