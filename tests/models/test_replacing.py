"""A saved model gives way to itself, longer, shorter or with other items, and to nothing else."""

from __future__ import annotations

import pytest

from sidrec.core.errors import StorageError
from sidrec.data.synthetic import clusters
from sidrec.models.popularity import Popularity
from sidrec.models.registry import load_model


@pytest.fixture
def data():
    return clusters(n_clusters=3, cluster_size=5, n_users=20, length=5)


def test_a_model_is_no_dataset(data, tmp_path) -> None:
    data.save(tmp_path / "data")
    before = {file.name: file.read_bytes() for file in (tmp_path / "data").iterdir()}
    model = Popularity().fit(data)
    with pytest.raises(StorageError, match="holds a dataset, and a model is to be written; nothing was touched"):
        model.save(tmp_path / "data")
    with pytest.raises(StorageError, match="holds a dataset"):
        Popularity().fit(data, out=tmp_path / "data")
    assert {file.name: file.read_bytes() for file in (tmp_path / "data").iterdir()} == before
    assert load_model(model.save(tmp_path / "data", replace=True)).key == "popularity"


def test_a_changed_catalogue_is_the_same_model_and_other_data_is_another(data, tmp_path) -> None:
    model = Popularity().fit(data, out=tmp_path / "model")
    model.remove_items(["thing-1"])
    model.save(tmp_path / "model")
    assert "thing-1" not in load_model(tmp_path / "model").recommend([["thing-2"]], k=15).item_ids[0]
    other = Popularity().fit(clusters(n_clusters=3, cluster_size=5, n_users=21, length=5))
    with pytest.raises(StorageError, match="holds another model, made from other data or with other settings"):
        other.save(tmp_path / "model")
    other.save(tmp_path / "model", replace=True)
    assert "thing-1" in load_model(tmp_path / "model").recommend([["thing-2"]], k=15).item_ids[0]
