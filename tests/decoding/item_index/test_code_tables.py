from __future__ import annotations

import numpy as np
import pytest
import torch

from sidrec.decoding.item_index.code_tables import CodeTables

IDS = np.array([[0, 8, 1], [2, 8, 0]], dtype=np.int32)


@pytest.mark.parametrize(("max_bytes", "n_depths"), [(0, 1), (60, 2), (300, 3)])
def test_depths_are_kept_while_they_fit(max_bytes, n_depths):
    # K = 3, 9, 2 -> rows of 2 bytes; depth 1: (3 + 9 + 2) * 2 rows, depth 2: 27 + 6 + 18 rows
    tables = CodeTables(IDS, (3, 9, 2), max_bytes)
    assert tables.n_depths == n_depths
    assert tables.n_bytes == 2 * (3, 3 + 28, 3 + 28 + 51)[n_depths - 1]


def test_the_row_of_a_pair_of_codes():
    tables = CodeTables(IDS, (3, 9, 2), 1000)
    codes = torch.tensor([[2, -1, 0], [0, -1, 0]])
    valid = tables.valid(codes, torch.tensor([0b101, 0b101]), torch.tensor([[1], [1]]))
    assert valid[0, 0].tolist() == [False] * 8 + [True]
    assert not valid[1].any()
