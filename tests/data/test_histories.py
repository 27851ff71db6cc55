"""Ragged rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.data.histories import Histories

ROWS = st.lists(st.lists(st.integers(0, 99), max_size=6), max_size=8)


def lists(rows: Histories) -> list[list[int]]:
    return [row.tolist() for row in rows]


@settings(max_examples=50, deadline=None)
@given(ROWS, st.integers(1, 7))
def test_rows_behave_like_lists(rows: list[list[int]], width: int) -> None:
    histories = Histories.from_lists(rows)
    assert lists(histories) == rows
    assert histories.lengths.tolist() == [len(row) for row in rows]
    assert lists(histories.last(width)) == [row[-width:] for row in rows]
    assert histories.padded(width).tolist() == [[-1] * (width - len(row[-width:])) + row[-width:] for row in rows]
    picked = np.arange(len(rows))[::-2]
    assert lists(histories.take(picked)) == [rows[row] for row in picked]


def test_slices_are_absolute_and_may_be_empty() -> None:
    histories = Histories.from_lists([[1, 2, 3], [4, 5]])
    assert lists(histories.slice_rows(np.array([1, 3]), np.array([3, 3]))) == [[2, 3], []]
