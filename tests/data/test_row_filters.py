"""Order, duplicates, k-core and history cut, against hand-made cases and a slow twin."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import splits as twin
from sidrec.data import row_filters
from sidrec.data.interactions import Interactions

ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=60)


def interactions(rows: list[tuple[int, int, int]], timed: bool = True) -> Interactions:
    users, items, times = (np.array(column) for column in zip(*rows, strict=True))
    names = pl.Series([str(number) for number in range(10)])
    stamps = times.astype(np.int64) if timed else None
    return Interactions(users.astype(np.int32), items.astype(np.int32), stamps, None, names, names)


def triples(rows: Interactions) -> list[tuple[int, int, int]]:
    assert rows.timestamps is not None
    return list(zip(rows.users.tolist(), rows.items.tolist(), rows.timestamps.tolist(), strict=True))


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 4))
def test_k_core_equals_the_slow_twin(rows: list[tuple[int, int, int]], k: int) -> None:
    slow = twin.k_core([(str(user), str(item), time) for user, item, time in rows], k)
    fast = triples(row_filters.k_core(interactions(rows), k))
    assert [(str(user), str(item), time) for user, item, time in fast] == slow


def test_k_core_goes_on_until_nothing_changes() -> None:
    # item 2 is rare; without it user 1 is, without user 1 item 1 is, and so on down the chain
    chain = [(0, 0, 1), (0, 1, 2), (1, 1, 3), (1, 2, 4)]
    assert len(row_filters.k_core(interactions(chain), 2)) == 0
    square = [(0, 0, 1), (0, 1, 2), (1, 0, 3), (1, 1, 4)]
    assert triples(row_filters.k_core(interactions([*square, (2, 1, 5)]), 2)) == square


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_time_order_keeps_file_order_for_equal_times(rows: list[tuple[int, int, int]]) -> None:
    ordered = triples(row_filters.time_order(interactions(rows)))
    assert ordered == sorted(rows, key=lambda row: (row[0], row[2]))


def test_times_too_wide_for_one_key_are_ordered_as_well() -> None:
    rows = [(1, 0, 2**62), (0, 1, -(2**62)), (1, 2, -(2**62)), (0, 3, 2**62), (1, 4, 2**62)]
    assert [item for _, item, _ in triples(row_filters.time_order(interactions(rows)))] == [1, 3, 2, 0, 4]


def test_without_times_the_file_order_is_the_order() -> None:
    ordered = row_filters.time_order(interactions([(1, 5, 9), (0, 4, 8), (1, 3, 1), (0, 2, 0)], timed=False))
    assert ordered.items.tolist() == [4, 2, 5, 3]


def test_duplicates() -> None:
    rows = [(0, 1, 1), (0, 2, 1), (0, 1, 1), (0, 3, 2), (0, 1, 3)]  # item 1 twice at time 1, again at time 3
    given_rows = row_filters.time_order(interactions(rows))
    assert triples(row_filters.drop_duplicates(given_rows, "keep")) == [(0, 1, 1), (0, 2, 1), (0, 3, 2), (0, 1, 3)]
    assert triples(row_filters.drop_duplicates(given_rows, "first")) == [(0, 1, 1), (0, 2, 1), (0, 3, 2)]
    assert triples(row_filters.drop_duplicates(given_rows, "last")) == [(0, 2, 1), (0, 3, 2), (0, 1, 3)]


def test_newest_keeps_the_end_of_each_user() -> None:
    rows = [(0, 1, 1), (0, 2, 2), (0, 3, 3), (2, 4, 1)]
    assert row_filters.newest(interactions(rows), 2).items.tolist() == [2, 3, 4]
    assert row_filters.newest(interactions(rows), 3).items.tolist() == [1, 2, 3, 4]
