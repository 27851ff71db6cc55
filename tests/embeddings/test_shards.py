from __future__ import annotations

import numpy as np
import pytest

from sidrec.embeddings.shards import Shards

ROWS = np.arange(10, dtype=np.float32).reshape(5, 2)


@pytest.fixture(params=["memory", "disk"])
def shards(request, tmp_path):
    return Shards(5, None if request.param == "memory" else tmp_path / "blocks", size=2)


def test_five_rows_in_blocks_of_two(shards):
    assert len(shards) == 3
    for shard in (2, 0, 1):
        shards.put(shard, ROWS[shards.rows(shard)])
    found = list(shards)
    assert [(rows.start, rows.stop) for rows, _ in found] == [(0, 2), (2, 4), (4, 5)]
    np.testing.assert_array_equal(np.concatenate([block for _, block in found]), ROWS)


def test_a_block_that_was_not_put_is_absent(shards):
    shards.put(1, ROWS[2:4])
    assert shards.get(0) is None
    assert [rows.start for rows, _ in shards] == [2]


def test_another_run_finds_the_finished_blocks_and_no_damaged_ones(tmp_path):
    first = Shards(5, tmp_path, size=2)
    first.put(0, ROWS[:2])
    first.put(1, ROWS[2:4])
    file = tmp_path / "000001.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    again = Shards(5, tmp_path, size=2)
    np.testing.assert_array_equal(again.get(0), ROWS[:2])
    assert again.get(1) is None
    assert again.get(2) is None
