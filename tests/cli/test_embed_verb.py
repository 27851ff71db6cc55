from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from sidrec import verbs
from sidrec.cli.app import main
from sidrec.data.synthetic import cycle
from sidrec.embeddings.item_embeddings import ItemEmbeddings


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    cycle(n_items=12, n_users=20, length=6).save(folder / "data")
    return folder


@pytest.fixture
def run(monkeypatch, capsys, folder):
    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["sidrec", "embed", "data", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return run


def test_it_names_what_it_wrote_and_what_comes_next(run, folder):
    code, out, _ = run("--out", "emb", "--encoder", "tfidf", "--fields", "title", "--pca", "3", "--whiten")
    assert code == 0
    assert out.endswith("wrote emb\nnext: sidrec tokenize emb --data data --out ids\n")
    found = ItemEmbeddings.load(folder / "emb")
    assert found.settings["fields"] == ["title"]
    np.testing.assert_allclose(np.cov(found.vectors.T), np.eye(3), atol=1e-3)


def test_json_is_one_object(run):
    _, out, _ = run("--out", "json", "--encoder", "tfidf", "--json")
    facts = json.loads(out)
    assert facts.pop("seconds") >= 0
    assert (facts["items"], facts["source"], facts["items_without_text"], facts["out"]) == (12, "tfidf", 0, "json")


def test_your_own_vectors(run, folder):
    rows = np.arange(24, dtype=np.float32).reshape(12, 2)
    np.save(folder / "mine.npy", rows)
    assert run("--out", "given", "--vectors", "mine.npy")[0] == 0
    np.testing.assert_array_equal(ItemEmbeddings.load(folder / "given").vectors, rows)


def test_vectors_of_a_trained_model_are_matched_by_item_id(run, folder, monkeypatch):
    from sidrec.data.catalog import Catalog
    from sidrec.data.dataset import Dataset
    from sidrec.models.capabilities import HasItemVectors
    from sidrec.models.popularity import Popularity

    class Learned(Popularity, HasItemVectors):
        def item_vectors(self):
            return np.arange(12, dtype=np.float32)[:, None]

    data = Dataset.load(folder / "data")
    model = Learned().fit(data)
    model._stock = replace(model.stock, catalog=Catalog(data.catalog.frame.reverse()))
    monkeypatch.setattr(verbs, "load_model", lambda path: model)
    assert run("--out", "learned", "--from-model", "runs/m")[0] == 0
    found = ItemEmbeddings.load(folder / "learned")
    assert found.vectors[:, 0].tolist() == list(range(12))[::-1]
    assert found.source == "model popularity"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fields", "titel"], "'titel' is not a text field of the catalogue; did you mean title?"),
        (["--set", "mising=zero"], "mising is not a setting of embed; did you mean missing?"),
        (["--whiten"], "needs pca"),
        (["--vectors", "absent.npy"], "absent.npy: no such file of vectors"),
        (["--vectors", "short.npy"], "short.npy: 2 vectors for 12 items"),
        (["--vectors", "a.npy", "--from-model", "m"], "from_model comes instead of encoder and vectors"),
        (["--from-model", "absent"], "absent: no such directory; make one with `sidrec train`"),
    ],
)
def test_mistakes_are_one_sentence(run, folder, words, message):
    np.save(folder / "short.npy", np.ones((2, 2), dtype=np.float32))
    code, out, err = run("--out", "wrong", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert not (folder / "wrong").exists()


def test_a_model_without_vectors_says_so(run, folder):
    from sidrec.data.dataset import Dataset
    from sidrec.models.popularity import Popularity

    Popularity().fit(Dataset.load(folder / "data")).save(folder / "popular")
    code, _, err = run("--out", "wrong", "--from-model", "popular")
    assert code == 2
    assert "popularity has no item vectors; use an item-ID model" in err


def test_items_without_text_are_counted(run, folder, monkeypatch):
    from sidrec.data.catalog import Catalog
    from sidrec.data.dataset import Dataset

    data = Dataset.load(folder / "data")
    first = pl.int_range(pl.len()) < 2
    blank = pl.when(first).then(pl.lit("")).otherwise(pl.col("title")).alias("title")
    silent = Dataset(
        Catalog(data.catalog.frame.select("item_id", blank)),
        data.user_ids,
        data.sequences,
        data.train_ends,
        data.validation_ends,
    )
    monkeypatch.setattr(Dataset, "load", lambda path: silent)
    _, out, err = run("--out", "silent", "--encoder", "tfidf", "--set", "missing=zero", "--json")
    assert json.loads(out)["items_without_text"] == 2
    assert "2 of 12 items have no text: they get zeros" in err
