from __future__ import annotations

import numpy as np
import pytest

import sidrec
from sidrec.data.synthetic import clusters, cycle
from sidrec.embeddings.item_embeddings import ItemEmbeddings


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verbs")
    data = clusters(n_clusters=3, cluster_size=8, n_users=40, length=6)
    data.save(folder / "data")
    sidrec.Popularity().fit(sidrec.Dataset.load(folder / "data")).save(folder / "model")
    return folder


def test_a_model_is_judged_as_an_object_or_by_its_place(saved, tmp_path):
    by_place = sidrec.evaluate(str(saved / "model"))
    model, data = sidrec.load(str(saved / "model")), sidrec.Dataset.load(saved / "data")
    for found in (
        sidrec.evaluate(model),
        sidrec.evaluate(model, data),
        sidrec.evaluate(saved / "model", str(saved / "data")),
        sidrec.evaluate(saved / "model", data, out=str(tmp_path / "kept")),
        sidrec.evaluate(model, out=tmp_path / "written"),
    ):
        assert found.findings() == by_place.findings()
    same = sidrec.compare(tmp_path / "kept", str(tmp_path / "written"))
    assert {row.verdict for row in same.differences} == {"could be chance"}
    assert [(row.first, row.second) for row in same.differences] == [("kept", "written")] * 2


def test_settings_go_by_name(saved):
    found = sidrec.evaluate(saved / "model", split="validation", ks=(3, 7), users=10, exclude_seen=True)
    assert (found.split, found.users, found.exclude_seen, sorted(found.recall)) == ("validation", 10, True, [3, 7])
    with pytest.raises(sidrec.SidrecError, match="evaluate: splt is not a setting of evaluate; did you mean split"):
        sidrec.evaluate(saved / "model", splt="test")


def test_data_in_memory_must_be_given_again():
    data = cycle(n_items=6, n_users=12)
    model = sidrec.Popularity().fit(data)
    with pytest.raises(sidrec.SidrecError, match=r"trained on data in memory; give the data as well: evaluate\(model"):
        sidrec.evaluate(model)
    assert sidrec.evaluate(model, data).users == 12


def test_evaluations_of_one_kind_are_numbered():
    data = cycle(n_items=6, n_users=12)
    first, second = (sidrec.evaluate(sidrec.Popularity().fit(data), data) for _ in range(2))
    rows = sidrec.compare(first, second, {"mine": first}, metrics=["recall@1"]).differences
    assert {(row.first, row.second) for row in rows} == {
        ("popularity", "popularity (2)"),
        ("popularity", "mine"),
        ("popularity (2)", "mine"),
    }


def test_items_become_vectors_and_ids(saved, tmp_path):
    data = sidrec.Dataset.load(saved / "data")
    vectors = sidrec.embed(str(saved / "data"), encoder="tfidf", pca=2, out=str(tmp_path / "emb"))
    assert (vectors.vectors == sidrec.embed(data, encoder="tfidf", pca=2).vectors).all()
    assert (vectors.vectors == sidrec.embed(data.catalog, encoder="tfidf", pca=2).vectors).all()
    options = {"tokenizer": "opq", "codebook_size": 4, "n_codes": 3}
    ids = sidrec.tokenize(tmp_path / "emb", out=tmp_path / "ids", titles=data.catalog.titles, **options).ids
    assert (ids.codes == sidrec.tokenize(vectors, **options).ids.codes).all()
    assert ids.n_unique == ids.n_items == 24
    assert "thing" in (tmp_path / "ids" / "report.html").read_text()


def test_a_trained_model_gives_vectors(saved):
    data = sidrec.Dataset.load(saved / "data")
    model = sidrec.SASRec(d_model=8, n_heads=1, n_layers=1, training={"epochs": 1}).fit(data)
    found = sidrec.embed(data, from_model=model)
    assert isinstance(found, ItemEmbeddings) and found.source == "model sasrec"
    assert np.array_equal(found.vectors, model.item_vectors())
