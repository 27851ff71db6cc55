"""Coding of ids and the joining of batches."""

from __future__ import annotations

import os
import subprocess
import sys

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.core.errors import InputError
from sidrec.data.interactions import IdCodes, collect
from sidrec.data.source import Batch, FilePosition


def batch(users: list[str], times: list[object], first_row: int) -> Batch:
    frame = pl.DataFrame({"user_id": users, "item_id": users, "timestamp": times}, strict=False)
    return Batch(frame, FilePosition("f.csv", first_row))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.text(max_size=3), max_size=8), max_size=5))
def test_codes_count_up_as_ids_first_appear(batches: list[list[str]]) -> None:
    codes = IdCodes()
    found = [codes.encode(pl.Series(ids, dtype=pl.String)).tolist() for ids in batches]
    order = list(dict.fromkeys(name for ids in batches for name in ids))
    assert found == [[order.index(name) for name in ids] for ids in batches]
    assert codes.ids().to_list() == order


MANY_CHUNKS = """
import polars as pl
from sidrec.data.interactions import collect
from sidrec.data.source import Batch, FilePosition
n_rows, n_chunks = 20_000, 50
size = n_rows // n_chunks
numbers = [row * 7919 % 6007 for row in range(n_rows)]
parts = [pl.Series("user_id", [f"id {x}" for x in numbers[first : first + size]]) for first in range(0, n_rows, size)]
users = pl.concat(parts, rechunk=False)
items = pl.concat([part.alias("item_id") for part in reversed(parts)], rechunk=False)
frame = pl.DataFrame({"user_id": users, "item_id": items})
assert users.n_chunks() == frame["item_id"].n_chunks() == n_chunks
for _ in range(5):
    found = collect(iter([Batch(frame, FilePosition("x", 1))]), "x")
    for ids, codes, column in ((found.user_ids, found.users, users), (found.item_ids, found.items, items)):
        assert ids.to_list() == column.unique(maintain_order=True).to_list()
        assert ids.gather(codes).to_list() == column.to_list()
print(pl.thread_pool_size())
"""


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.slow
def test_codes_do_not_depend_on_chunks_and_threads(threads: int) -> None:
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
    done = subprocess.run([sys.executable, "-c", MANY_CHUNKS], env=environment, capture_output=True, text=True)
    assert done.stdout == f"{threads}\n", done.stderr


def test_batches_become_one_and_know_their_rows() -> None:
    rows = collect(iter([batch(["a", "b"], ["3", "4"], 2), batch(["b", "c"], ["5", "6"], 4)]), "f.csv")
    assert rows.user_ids.to_list() == ["a", "b", "c"]
    assert rows.users.tolist() == [0, 1, 1, 2]
    assert rows.timestamps is not None and rows.timestamps.tolist() == [3, 4, 5, 6]
    assert [rows.where(row) for row in range(4)] == [f"f.csv, row {row}" for row in (2, 3, 4, 5)]


def test_one_fraction_anywhere_counts_all_times_in_millionths() -> None:
    rows = collect(iter([batch(["a"], ["3"], 2), batch(["b"], ["2.5"], 3)]), "f.csv")
    assert rows.timestamps is not None and rows.timestamps.tolist() == [3_000_000, 2_500_000]


def test_dates_and_numbers_do_not_mix() -> None:
    with pytest.raises(InputError, match="row 3, column timestamp: dates and numbers are mixed"):
        collect(iter([batch(["a"], ["3"], 2), batch(["b"], ["2020-01-01"], 3)]), "f.csv")


def test_nothing_to_read() -> None:
    with pytest.raises(InputError, match=r"f\.csv: has no interactions"):
        collect(iter([]), "f.csv")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=12), st.permutations("abcdefg"))
def test_codes_in_order_do_not_depend_on_who_was_coded_first(names: list[str], luck: list[str]) -> None:
    codes = IdCodes()
    codes.encode(pl.Series(luck, dtype=pl.String))  # as if pieces had raced
    found, ids = codes.in_order(codes.encode(pl.Series(names, dtype=pl.String)))
    order = list(dict.fromkeys(names))
    assert ids.to_list()[: len(order)] == order and sorted(ids.to_list()) == list("abcdefg")
    assert found.tolist() == [order.index(name) for name in names]


def test_many_pieces_coded_side_by_side_always_give_the_same_codes() -> None:
    names = [f"u{(number * 7919) % 20_011}" for number in range(40_000)]
    pieces = [
        pl.DataFrame({"user_id": names[at : at + 500], "item_id": names[at : at + 500]}) for at in range(0, 40_000, 500)
    ]
    order = {name: code for code, name in enumerate(dict.fromkeys(names))}
    for _ in range(5):
        frame = pl.concat(pieces, rechunk=False)
        assert frame.n_chunks() == 80
        rows = collect(iter([Batch(frame, FilePosition("f.csv", 2))]), "f.csv")
        assert rows.users.tolist() == [order[name] for name in names] and rows.user_ids.to_list() == list(order)
