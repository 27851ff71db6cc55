"""Parts, cases, counts, and that a saved dataset comes back the same."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sidrec.core.artifacts import Origin, write
from sidrec.core.errors import ArtifactError
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories

DATA = Dataset(
    catalog=Catalog(pl.DataFrame({"item_id": ["a", "b", "c"], "tags": [["日本"], [], None]})),
    user_ids=pl.Series("user_id", ["u", "v", "w"]),
    sequences=Histories.from_lists([[0, 1, 2, 0], [2, 1], [1]]),
    train_ends=np.array([2, 2, 0]),
    validation_ends=np.array([3, 2, 0]),
    timestamps=np.arange(7),
).with_content_fingerprint()


def test_parts_by_hand() -> None:
    assert [row.tolist() for row in DATA.train_sequences()] == [[0, 1], [2, 1], []]
    assert DATA.train_counts().tolist() == [1, 2, 1]
    validation, test = DATA.cases("validation"), DATA.cases("test")
    assert (validation.users.tolist(), validation.targets.tolist()) == ([0], [2])
    assert (test.users.tolist(), test.targets.tolist()) == ([0], [0])  # w has nothing before its test item
    assert test.histories[0].tolist() == [0, 1, 2]
    assert len(test.take(np.array([0]))) == 1


def test_save_and_load(tmp_path: Path) -> None:
    loaded = Dataset.load(DATA.save(tmp_path / "data"))
    assert loaded.with_content_fingerprint().fingerprint == DATA.fingerprint
    assert loaded.catalog.frame.equals(DATA.catalog.frame)
    assert loaded.user_ids.to_list() == ["u", "v", "w"]
    (tmp_path / "data" / "users.parquet").write_bytes(b"x")
    with pytest.raises(ArtifactError, match=r"users\.parquet"):
        Dataset.load(tmp_path / "data")


def test_a_fingerprint_is_the_content() -> None:
    assert replace(DATA, fingerprint="other").with_content_fingerprint().fingerprint == DATA.fingerprint
    changes = (
        {"train_ends": np.array([1, 2, 0])},
        {"timestamps": None},
        {"user_ids": pl.Series("user_id", ["u", "v", "x"])},
        {"catalog": Catalog(DATA.catalog.frame.with_columns(title=pl.lit("t")))},
    )
    for change in changes:
        assert replace(DATA, **change).with_content_fingerprint().fingerprint != DATA.fingerprint  # type: ignore[arg-type]


def resealed(path: Path, name: str, frame: pl.DataFrame) -> Path:
    """The dataset with another table in it, and a manifest that says so."""
    copy = path.with_name("copy")
    with write(copy, Origin("dataset")) as directory:
        shutil.copytree(path, directory, dirs_exist_ok=True)
        frame.write_parquet(directory / name)
    return copy


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("users.parquet", {"user_id": "u"}, "column user_id has 'u' more than once"),
        ("users.parquet", {"user_id": None}, "column user_id holds Null instead of strings"),
        ("users.parquet", {"length": 1}, "its lengths do not add up"),
        ("users.parquet", {"length": 2**62}, "its lengths do not add up"),
        ("users.parquet", {"train_end": 99}, "a split ends before it begins"),
        ("users.parquet", {"validation_end": 99}, "a split ends before it begins"),
        ("users.parquet", {"train_end": -1}, "column train_end has numbers below zero"),
        ("users.parquet", {"length": "2"}, "column length holds String instead of whole numbers"),
        ("events.parquet", {"item": 3}, "names items beyond the 3 of the catalogue"),
        ("events.parquet", {"timestamp": 0.5}, "column timestamp holds Float64 instead of whole numbers"),
        ("catalog.parquet", {"item_id": "a"}, "column item_id has 'a' more than once"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(tmp_path: Path, name: str, change: dict, said: str) -> None:
    path = DATA.save(tmp_path / "data")
    frame = pl.read_parquet(path / name).with_columns(**{column: pl.lit(value) for column, value in change.items()})
    with pytest.raises(ArtifactError, match=rf"{name}: {said}"):
        Dataset.load(resealed(path, name, frame))


def test_a_path_is_no_pattern(tmp_path: Path) -> None:
    path = DATA.save(tmp_path / "a[1]*?")
    assert Dataset.load(path).n_users == DATA.n_users
