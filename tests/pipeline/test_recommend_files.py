"""Many files in, as many out, each as if it had been the only one."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sidrec.core.errors import InputError, StorageError
from sidrec.data.synthetic import demo_shop
from sidrec.models.popularity import Popularity
from sidrec.pipeline.recommend_files import is_many, placed, recommend_files
from sidrec.pipeline.recommend_many import recommend_many


@pytest.fixture(scope="module")
def shop():
    return demo_shop(n_items=60, n_users=30)


@pytest.fixture(scope="module")
def model(shop):
    return Popularity().fit(shop, progress=False)


@pytest.fixture
def users(tmp_path, shop) -> Path:
    ids = shop.catalog.item_ids.to_list()
    (tmp_path / "users").mkdir()
    for name, n_users in (("b", 7), ("a", 12)):
        frame = pl.DataFrame({"user_id": [f"{name}{user}" for user in range(n_users)], "history": [ids[:3]] * n_users})
        frame.write_parquet(tmp_path / "users" / f"{name}.parquet")
    return tmp_path / "users"


def names(places: list[tuple[Path, Path]]) -> list[tuple[str, str]]:
    return [(file.name, output.name) for file, output in places]


def test_files_are_named_by_pattern_folder_or_one_by_one_in_the_order_of_their_names(users, tmp_path):
    wanted = [("a.parquet", "a.parquet"), ("b.parquet", "b.parquet")]
    (users / ".hidden.parquet").touch()
    (users / "notes.txt").touch()
    for given in ([f"{users}/[ab].parquet"], [str(users)], [f"{users}/b.parquet", f"{users}/a.parquet"]):
        assert is_many(given, tmp_path / "recs")
        assert names(placed(given, tmp_path / "recs")) == wanted
    assert not is_many([f"{users}/a.parquet"], tmp_path / "recs.parquet")
    assert is_many([f"{users}/a.parquet"], tmp_path), "into a folder that is there"


def test_folders_below_the_common_one_are_kept_and_packed_text_becomes_parquet(users, tmp_path):
    (users / "north").mkdir()
    (users / "north" / "a.csv.gz").touch()
    found = placed([f"{users}/**/*a.*"], tmp_path / "recs")
    assert [output.relative_to(tmp_path) for _, output in found] == [
        Path("recs/a.parquet"),
        Path("recs/north/a.parquet"),
    ]


def test_what_cannot_be_is_refused(users, tmp_path):
    with pytest.raises(InputError, match="no such file of users"):
        placed([f"{users}/*.jsonl"], tmp_path / "recs")
    (users / "a.csv").touch()
    with pytest.raises(InputError, match=r"would both be written to .*a\.parquet; rename one"):
        placed([str(users)], tmp_path / "recs")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="is a file"):
        placed([f"{users}/*.parquet"], tmp_path / "file")


def test_each_file_is_as_if_it_were_alone_and_finished_ones_are_kept(model, users, tmp_path):
    places = placed([f"{users}/*.parquet"], tmp_path / "recs")
    first = recommend_files(model, places, k=4, batch_users=5)
    assert [(one.users, one.skipped) for one in first] == [(12, False), (7, False)]
    for file, output in places:
        recommend_many(model, file, tmp_path / "alone.parquet", k=4, batch_users=5, replace=True)
        assert output.read_bytes() == (tmp_path / "alone.parquet").read_bytes()
    places[1][1].unlink()
    again = recommend_files(model, places, k=4, batch_users=5)
    assert [one.skipped for one in again] == [True, False]
    with pytest.raises(StorageError, match="other recommendations"):
        recommend_files(model, places, k=3)
    assert sorted(file.name for file in (tmp_path / "recs").iterdir()) == ["a.parquet", "b.parquet"]
