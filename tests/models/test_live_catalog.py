"""Items come, go, return and change under a fitted model: all of a change, or nothing of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sidrec.core.errors import InputError, StorageError
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import clusters
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.llada_rec_plus.recommender import LLaDARecPlus
from sidrec.models.popularity import Popularity
from sidrec.models.registry import load_model
from sidrec.models.sasrec import SASRec

BASE = clusters(n_clusters=3, cluster_size=5, n_users=30, length=5)


def with_columns(data: Dataset, **columns: list[object]) -> Dataset:
    frame = data.catalog.frame.with_columns(pl.Series(name, values) for name, values in columns.items())
    return Dataset(**{**vars(data), "catalog": Catalog(frame)}).with_content_fingerprint()


DATA = with_columns(BASE, price=[float(item) for item in range(15)], in_stock=[True] * 15)


def test_prices_and_stock_change_without_training(tmp_path: Path) -> None:
    model = Popularity().fit(DATA)
    before = model.recommend([["thing-0"]], k=15).item_ids[0]
    file = tmp_path / "prices.csv"
    file.write_text("item_id,price,in_stock\nthing-3,99.5,false\nthing-1,98,true\n", encoding="utf-8")
    assert model.update_items(file) == ["thing-3", "thing-1"]
    assert model.recommend([["thing-0"]], k=15).item_ids[0] == before
    assert sorted(model.recommend([[]], k=15, allow="price>90").item_ids[0]) == ["thing-1", "thing-3"]
    assert model.recommend([[]], k=15, deny="in_stock=true").item_ids[0] == ["thing-3"]
    again = load_model(model.save(tmp_path / "model"))
    assert again.catalog.frame.equals(model.catalog.frame) and again.stock.changed
    assert again.catalog.frame["title"].equals(DATA.catalog.frame["title"])


def test_a_change_that_cannot_be_changes_nothing() -> None:
    model = Popularity().fit(DATA)
    before = model.catalog
    wrong: list[tuple[dict[str, list[object]], str]] = [
        ({"item_id": ["thing-1", "zz"], "price": [1.0, 2.0]}, "'zz' is not in the catalogue; nothing was changed"),
        ({"item_id": ["thing-1"], "prcie": [1.0]}, "a column prcie that the catalogue has not"),
        ({"item_id": ["thing-1"]}, "no column but item_id"),
    ]
    for given, words in wrong:
        with pytest.raises(InputError, match=words):
            model.update_items(pl.DataFrame(given))
    assert model.catalog is before and not model.stock.changed
    assert model.update_items(pl.DataFrame(schema={"item_id": pl.String, "price": pl.Float64})) == []


@pytest.mark.parametrize(("kind", "how"), [(SASRec, "train on from it"), (Popularity, "fit a new one")])
def test_who_cannot_add_says_so(kind: type[SASRec] | type[Popularity], how: str) -> None:
    words = f"{kind.key} cannot recommend items that it was not trained with; {how}"
    with pytest.raises(InputError, match=words):
        kind().add_items(pl.DataFrame({"item_id": ["new"]}))


QUICK = {
    "d_model": 16,
    "n_layers": 1,
    "max_history": 4,
    "tokenize": {"tokenizer": "rq-kmeans", "options": {"n_codes": 2, "codebook_size": 8, "pca": None}},
    "training": {"epochs": 1, "batch_size": 64, "metric": None},
}


def own_vectors(n_items: int) -> np.ndarray:
    """Item i lies near the corner of its cluster."""
    rng = np.random.default_rng(0)
    return (np.eye(6)[np.arange(n_items) // 5 % 6] + 0.01 * rng.normal(size=(n_items, 6))).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LLaDARec, LLaDARecPlus])
def test_own_vectors_of_new_items(kind: type[LLaDARec] | type[LLaDARecPlus], tmp_path: Path) -> None:
    file = tmp_path / "vectors.npy"
    np.save(file, own_vectors(15))
    model = kind(**QUICK, n_heads=2, embedding={"vectors": file}).fit(BASE)
    new = pl.DataFrame({"item_id": ["new"]})
    with pytest.raises(InputError, match=r"give the vectors of the new items|give the new items' vectors"):
        model.add_items(new)
    with pytest.raises(InputError, match="vectors of 3 numbers, and those of the old items have 6"):
        model.add_items(new, vectors=np.zeros((1, 3)))
    with pytest.raises(InputError, match="2 vectors for 1 items"):
        model.add_items(new, vectors=np.zeros((2, 6)))
    assert len(model.stock) == 15
    near = pl.DataFrame({"item_id": ["other", "new"], "vector": [[9.0] * 6, own_vectors(15)[7].tolist()]})
    assert model.add_items(new, vectors=near) == ["new"]
    assert model.semantic_ids.codes[15][0] == model.semantic_ids.codes[7][0]  # the first code is the cluster
    assert "new" in load_model(model.save(tmp_path / "model")).recommend([["thing-6"]], k=16).item_ids[0]


@pytest.mark.slow
def test_vectors_where_text_speaks_are_refused() -> None:
    model = LLaDARec(**QUICK, n_heads=2, embedding={"encoder": "tfidf"}).fit(BASE)
    with pytest.raises(InputError, match=r"made from text.*leave their vectors out"):
        model.add_items(pl.DataFrame({"item_id": ["new"], "title": ["thing"]}), vectors=np.zeros((1, 6)))


@pytest.mark.slow
def test_attributes_that_change_are_seen_at_once_and_after_loading(tmp_path: Path) -> None:
    data = with_columns(BASE, brand=["x", "y", "z"] * 5)
    parts = {"identity": True, "codes": False, "attributes": ["brand"]}
    model = SASRec(d_model=8, n_layers=1, item_vectors=parts, training={"epochs": 1}).fit(data)
    before = model.item_vectors()
    model.update_items(pl.DataFrame({"item_id": ["thing-0"], "brand": ["y"]}))
    now = model.item_vectors()
    brand = {name: before[item] for name, item in (("x", 0), ("y", 1))}
    assert not np.allclose(now[0], brand["x"]) and np.allclose(now[1:], before[1:])
    assert np.allclose(load_model(model.save(tmp_path / "m")).item_vectors(), now)  # type: ignore[attr-defined]


def test_training_again_does_not_lose_what_was_changed(tmp_path: Path) -> None:
    model = Popularity().fit(DATA, out=tmp_path / "m")
    model.remove_items(["thing-1"])
    model.save(tmp_path / "m")
    with pytest.raises(StorageError, match="whose items were changed after it was trained"):
        Popularity().fit(DATA, out=tmp_path / "m")
    assert load_model(tmp_path / "m").stock.removed is not None
    assert Popularity().fit(DATA, out=tmp_path / "m", replace=True).stock.removed is None


def test_what_somebody_else_changed_meanwhile_is_never_lost(tmp_path: Path) -> None:
    Popularity().fit(DATA).save(tmp_path / "m")
    one, other = load_model(tmp_path / "m"), load_model(tmp_path / "m")
    other.remove_items(["thing-6"])
    other.save(tmp_path / "m")
    one.update_items(pl.DataFrame({"item_id": ["thing-1"], "price": [9.0]}))
    for late in (one, Popularity().fit(DATA)):
        with pytest.raises(StorageError, match="whose items were changed"):
            late.save(tmp_path / "m")
    assert "thing-6" not in load_model(tmp_path / "m").recommend([[]], k=15).item_ids[0]
    other.remove_items(["thing-7"])
    other.save(tmp_path / "m")  # its own changes may follow each other
    one.save(tmp_path / "m", replace=True)
    assert "thing-6" in load_model(tmp_path / "m").recommend([[]], k=15).item_ids[0]
