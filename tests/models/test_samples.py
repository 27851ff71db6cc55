"""Samples: every item but a user's first is a target exactly once, whatever the model and however long the history."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.core.errors import InputError
from sidrec.data.dataset import Cases
from sidrec.data.histories import Histories
from sidrec.data.synthetic import cycle
from sidrec.models.item_scorer import ItemScorer
from sidrec.models.registry import find_model
from sidrec.models.samples import Samples, left_aligned, right_aligned
from sidrec.nn.item_vectors import NOTHING_KNOWN

SEQUENCES = Histories.from_lists([[0, 1, 2, 3], [4], [], [5, 6]])
ROWS = st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=6).filter(
    lambda rows: any(len(row) > 1 for row in rows)
)
NO_CASES = Cases(np.empty(0, np.int64), Histories.from_lists([]), np.empty(0, np.int32))


def rows(samples: Samples) -> list[list[int]]:
    return [row.tolist() for row in samples.take(np.arange(len(samples)))]


def test_windows_by_hand() -> None:
    assert rows(Samples.windows(SEQUENCES, max_history=3)) == [[0, 1, 2, 3], [5, 6]]  # one each: nobody is longer
    assert rows(Samples.windows(SEQUENCES, max_history=2)) == [[1, 2, 3], [0, 1], [5, 6]]


@given(rows=ROWS, max_history=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_windows_cover_every_target_once(rows: list[list[int]], max_history: int) -> None:
    sequences = Histories.from_lists(rows)
    found = Samples.windows(sequences, max_history)
    assert (found.n_targets >= 1).all() and (found.n_targets <= max_history).all()
    covered = sorted(t for w in range(len(found)) for t in range(found.starts[w] + 1, found.ends[w]))
    assert covered == (Samples.every_prefix(sequences, max_history).ends - 1).tolist()


def test_every_prefix_ends_with_its_target() -> None:
    assert rows(Samples.every_prefix(SEQUENCES, max_history=5)) == [[0, 1], [0, 1, 2], [0, 1, 2, 3], [5, 6]]
    assert rows(Samples.every_prefix(SEQUENCES, max_history=1)) == [[0, 1], [1, 2], [2, 3], [5, 6]]


@pytest.mark.parametrize("build", [Samples.windows, Samples.every_prefix])
def test_nothing_to_learn_from_is_said(build) -> None:
    with pytest.raises(InputError, match="no user has two training items"):
        build(Histories.from_lists([[1], [], [2]]), 5)


def test_alignment() -> None:
    histories = Histories.from_lists([[3, 4], [5]])
    assert left_aligned(histories).tolist() == [[3, 4], [5, -1]]
    assert right_aligned(histories).tolist() == [[3, 4], [-1, 5]]
    assert right_aligned(histories, 3).tolist() == [[-1, 3, 4], [-1, -1, 5]]


PER_TARGET = ("fmlp-rec", "diffurec")
PER_WINDOW = ("gru4rec", "sasrec", "sasrec-ce", "bert4rec", "lrurec", "dreamrec", "llada-rec-plus")


@pytest.mark.parametrize("key", [*PER_TARGET, *PER_WINDOW])
def test_a_long_history_is_learned_from_as_a_whole(key: str) -> None:
    data = cycle(n_items=12, n_users=5, length=9)
    model = find_model(key).make(max_history=2)
    assert isinstance(model, ItemScorer)
    samples = model._objective(data, NO_CASES, NOTHING_KNOWN).samples
    n_targets = int((data.train_sequences().lengths - 1).sum())
    assert n_targets > 2 * 5
    assert (len(samples) if key in PER_TARGET else int(samples.n_targets.sum())) == n_targets
