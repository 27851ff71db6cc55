"""The items of a saved model, changed by tables."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sidrec.core.errors import InputError, StorageError
from sidrec.core.locks import patient
from sidrec.data.synthetic import clusters
from sidrec.models.popularity import Popularity
from sidrec.models.registry import load_model
from sidrec.models.vqrec import VQRec
from sidrec.pipeline.items import change_items

DATA = clusters(n_clusters=3, cluster_size=5, n_users=30, length=5)
IDS = {"tokenizer": "rq-kmeans", "options": {"n_codes": 2, "codebook_size": 8, "pca": None}}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    how = {"d_model": 8, "n_layers": 1, "tokenize": IDS, "embedding": {"encoder": "tfidf"}, "training": {"epochs": 1}}
    out = tmp_path_factory.mktemp("trained") / "model"
    VQRec(**how).fit(DATA, out=out)
    return out


@pytest.fixture
def adding(trained: Path, tmp_path: Path) -> Path:
    """A model that can take in new items."""
    return Path(shutil.copytree(trained, tmp_path / "model"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    Popularity().fit(DATA, out=tmp_path / "model")
    return tmp_path / "model"


def table(file: Path, **columns: list[object]) -> Path:
    frame = pl.DataFrame(columns)
    writers = {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}
    writers[file.suffix](file)
    return file


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_items_come_go_return_and_change(adding: Path, tmp_path: Path, ending: str) -> None:
    model, new = adding, table(tmp_path / f"new.{ending}", item_id=["late"], title=["thing for the garden 1"])
    done = change_items(model, "add", new)
    assert (done.item_ids, done.catalog, done.removed) == (("late",), 16, 0)
    assert "late" in load_model(model).recommend([["thing-6"]], k=16).item_ids[0]
    gone = table(tmp_path / f"gone.{ending}", item_id=["late", "thing-6"])
    assert change_items(model, "remove", gone).removed == 2
    assert not {"late", "thing-6"} & set(load_model(model).recommend([["thing-7"]], k=16).item_ids[0])
    assert change_items(model, "restore", gone).removed == 0
    other = table(tmp_path / f"titles.{ending}", item_id=["late"], title=["Spätzle"])
    change_items(model, "update", other)
    assert load_model(model).catalog.titles[15] == "Spätzle"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_into_another_place(model: Path, tmp_path: Path) -> None:
    before = sorted((file.name, file.read_bytes()) for file in model.iterdir() if file.is_file())
    gone = table(tmp_path / "gone.csv", item_id=["thing-6"])
    change_items(model, "remove", gone, out=tmp_path / "other")
    assert load_model(tmp_path / "other").stock.removed is not None
    assert sorted((file.name, file.read_bytes()) for file in model.iterdir() if file.is_file()) == before
    DATA.save(tmp_path / "data")
    with pytest.raises(StorageError, match="holds a dataset"):
        change_items(model, "remove", gone, out=tmp_path / "data")


@pytest.mark.slow
def test_all_or_nothing(adding: Path, tmp_path: Path) -> None:
    model = adding
    before = (model / "manifest.json").read_bytes()
    half = table(tmp_path / "half.csv", item_id=["late", "thing-1"], title=["x", "y"])
    with pytest.raises(InputError, match="'thing-1' is in the catalogue already; nothing was added"):
        change_items(model, "add", half)
    with pytest.raises(InputError, match="'late' is not in the catalogue; nothing was removed"):
        change_items(model, "remove", half)
    with pytest.raises(InputError, match="no such file"):
        change_items(model, "remove", tmp_path / "nowhere.csv")
    empty = tmp_path / "empty.csv"
    empty.write_text("item_id,title\n", encoding="utf-8")
    for change in ("add", "remove", "restore", "update"):
        assert change_items(model, change, empty).item_ids == ()
    assert (model / "manifest.json").read_bytes() == before


def test_two_changes_at_once_are_both_kept(tmp_path: Path) -> None:
    Popularity().fit(DATA, out=tmp_path / "m")
    files = [table(tmp_path / f"{number}.csv", item_id=[f"thing-{number}"]) for number in range(6)]
    errors: list[BaseException] = []

    def remove(file: Path) -> None:
        try:
            with patient(lambda _: None):
                change_items(tmp_path / "m", "remove", file)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=remove, args=(file,)) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    removed = load_model(tmp_path / "m").stock.removed
    assert removed is not None and np.flatnonzero(removed).tolist() == [0, 1, 2, 3, 4, 5]
