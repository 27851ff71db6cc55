"""Samples: every target exactly once, with the right history."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.data.histories import Histories
from sidrec.models.llada_rec.samples import Pairs, every_prefix, one_prefix

ROWS = st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=6)


def histories(pairs: Pairs) -> list[list[int]]:
    return [pairs.items[start:target].tolist() for start, target in zip(pairs.starts, pairs.targets, strict=True)]


def test_every_prefix_by_hand() -> None:
    pairs = every_prefix(Histories.from_lists([[1, 2, 3], [7], [4, 5]]), max_history=1)
    assert pairs.items[pairs.targets].tolist() == [2, 3, 5]
    assert histories(pairs) == [[1], [2], [4]]


@given(rows=ROWS, max_history=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_every_prefix_equals_the_literal_list(rows: list[list[int]], max_history: int) -> None:
    pairs = every_prefix(Histories.from_lists(rows), max_history)
    literal = [(row[max(0, t - max_history) : t], row[t]) for row in rows for t in range(1, len(row))]
    assert pairs.items[pairs.targets].tolist() == [target for _, target in literal]
    assert histories(pairs) == [history for history, _ in literal]


def test_one_prefix_reaches_every_target() -> None:
    sequences = Histories.from_lists([[1, 2, 3, 4], [5, 6]])
    generator = torch.Generator().manual_seed(0)
    drawn = [one_prefix(sequences, 2, np.array([0, 1]), generator) for _ in range(60)]
    assert {int(pairs.items[pairs.targets[0]]) for pairs in drawn} == {2, 3, 4}
    assert {int(pairs.items[pairs.targets[1]]) for pairs in drawn} == {6}
    assert all(pairs.lengths.max() <= 2 for pairs in drawn)
