"""From rows to a dataset: every setting on a case small enough to check by hand, and a slow twin on random rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import splits as twin
from sidrec.core.errors import InputError, SettingsError
from sidrec.data.build_dataset import PrepareSettings, Tally, build_dataset
from sidrec.data.dataset import Dataset
from sidrec.data.readers.columns import Columns
from sidrec.data.readers.detect import folder_source
from sidrec.data.readers.frames import frame_source
from sidrec.data.source import Source

ROWS = [
    ("u", "a", 1),
    ("u", "b", 2),
    ("u", "c", 3),
    ("u", "d", 4),
    ("v", "a", 2),
    ("v", "c", 1),
    ("v", "b", 5),
    ("w", "a", 9),
]
ITEMS = pl.DataFrame({"item_id": ["d", "c", "b", "a", "z"], "title": ["D", "C", "B", "A", "Z"]})


def source(rows: list[tuple[str, str, int]] = ROWS, items: pl.DataFrame | None = None, **more: list[Any]) -> Source:
    frame = pl.DataFrame(rows, schema=["user_id", "item_id", "timestamp"], orient="row")
    return frame_source(
        frame.with_columns(**{name: pl.Series(column) for name, column in more.items()}), items, Columns()
    )


def build(given_source: Source, **chosen: Any) -> tuple[Dataset, Tally]:
    return build_dataset(given_source, PrepareSettings.parse(chosen, owner="test"))


def shown(data: Dataset) -> dict[str, str]:
    ids = data.catalog.item_ids.to_list()
    return {user: "".join(ids[i] for i in row) for user, row in zip(data.user_ids, data.sequences, strict=True)}


def test_defaults_by_hand() -> None:
    data, tally = build(source(items=ITEMS))
    assert shown(data) == {"u": "abcd", "v": "cab"}
    assert data.catalog.titles == ["D", "C", "B", "A"]
    assert (data.train_ends.tolist(), data.validation_ends.tolist()) == ([2, 1], [3, 2])
    assert data.timestamps is not None and data.timestamps.tolist() == [1, 2, 3, 4, 1, 2, 5]
    assert tally == Tally(rows_read=8, short_users=1)


@pytest.mark.parametrize(
    ("chosen", "sequences"),
    [
        ({"k_core": 2}, {"u": "abc", "v": "cab"}),
        ({"max_history": 3}, {"u": "bcd", "v": "cab"}),
        ({"short_users": "train"}, {"u": "abcd", "v": "cab", "w": "a"}),
        ({"min_rating": 3}, {"u": "bcd", "v": "cab"}),
    ],
)
def test_filters_by_hand(chosen: dict[str, Any], sequences: dict[str, str]) -> None:
    data, _ = build(source(rating=[2, 3, 4, 5, 5, 5, 5, 1]), **chosen)
    assert shown(data) == sequences


def test_short_users_only_train() -> None:
    data, _ = build(source(), short_users="train")
    assert (data.train_ends.tolist(), data.validation_ends.tolist()) == ([2, 1, 1], [3, 2, 1])
    assert data.cases("test").users.tolist() == [0, 1]


def test_global_time_by_hand() -> None:
    data, _ = build(source(), split="global-time", validation_from=3, test_from=4)
    assert data.train_ends.tolist() == [2, 2]  # u: ab, v: ca
    assert data.validation_ends.tolist() == [3, 2]  # u: c
    assert data.cases("test").targets.tolist() == [data.catalog.index_of([item])[0] for item in "db"]


def test_unknown_items() -> None:
    table = ITEMS.filter(pl.col("item_id") != "c")
    with pytest.raises(InputError, match=r"row 2, column item_id: item 'c' is not in the items table \(2 of 8"):
        build(source(items=table))
    data, tally = build(source(items=table), unknown_items="drop")
    assert (shown(data), tally.unknown_items) == ({"u": "abd"}, 2)
    data, _ = build(source(items=table), unknown_items="keep")
    assert shown(data) == {"u": "abcd", "v": "cab"}
    assert data.catalog.titles == ["D", "B", "A", "c"]  # known items first, the unknown one shows its id


def test_unused_items_can_stay() -> None:
    data, _ = build(source(items=ITEMS), keep_unused_items=True)
    assert data.catalog.item_ids.to_list() == ["d", "c", "b", "a", "z"]
    assert shown(data)["v"] == "cab"


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"k_core": 4}, "nothing is left after the 4-core"),
        ({"short_users": "error"}, "1 users have fewer than the 3 interactions .* the first is 'w'"),
        ({"min_rating": 3}, "needs a rating column"),
        ({"split": "global-time", "validation_from": -5, "test_from": 1}, "nothing lies before -5"),
    ],
)
def test_what_cannot_be_done(chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(source(), **chosen)


def test_no_user_long_enough() -> None:
    with pytest.raises(InputError, match=r"no user has the 3 interactions .* \(the longest has 1\)"):
        build(source([("u", "a", 1), ("v", "a", 1)]))


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"validation_from": 1}, "must be given together"),
        ({"validation_from": 3, "test_from": 2}, "must lie before"),
        ({"validation_share": 0.6, "test_share": 0.5}, "leave something to train on"),
        ({"kcore": 1}, "did you mean k_core"),
    ],
)
def test_settings_that_do_not_fit(chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        PrepareSettings.parse(chosen, owner="data prepare")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("pqrst"), st.sampled_from("abcdef"), st.integers(0, 5)), min_size=1, max_size=60
    ),
    st.integers(0, 3),
    st.sets(st.sampled_from("abcdef"), min_size=1),
)
@pytest.mark.slow
def test_whole_way_equals_the_slow_twin(rows: list[twin.Row], k: int, known: set[str]) -> None:
    distinct = list(dict.fromkeys(row for row in rows if row[1] in known))
    expected = {user: own for user, own in twin.sequences(twin.k_core(distinct, k)).items() if len(own) >= 3}
    items = pl.DataFrame({"item_id": sorted(known)})
    if not expected:
        with pytest.raises(InputError):
            build(source(rows, items), k_core=k, unknown_items="drop")
        return
    data, _ = build(source(rows, items), k_core=k, unknown_items="drop")
    _agrees(data, expected)


def _agrees(data: Dataset, expected: dict[str, list[str]]) -> None:
    ids = data.catalog.item_ids.to_list()
    assert dict.fromkeys(data.user_ids.to_list()).keys() == expected.keys()
    train, validation, test = data.train_sequences(), data.cases("validation"), data.cases("test")
    assert len(validation) == len(test) == len(expected)
    for user, user_id in enumerate(data.user_ids):
        found = [ids[i] for i in train[user]], ids[validation.targets[user]], ids[test.targets[user]]
        assert found == twin.leave_one_out(expected[user_id])
        assert [ids[i] for i in test.histories[user]] == expected[user_id][:-1]


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["amazon2018-scientific", "amazon2014-beauty"])
def test_real_sets_are_split_as_the_slow_twin_does(shared_data: Path, name: str) -> None:
    data, _ = build(folder_source(shared_data / name, Columns()))
    expected = twin.sequences_file((shared_data / name / "sequences.tsv").read_text(encoding="utf-8"))
    assert data.user_ids.to_list() == list(expected)
    _agrees(data, expected)
