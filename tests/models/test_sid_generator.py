"""What every generator of semantic IDs promises, shown with LLaDA-Rec: refits, catalogues that change, searches."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest
import torch

import sidrec.models.item_ids as item_ids
import sidrec.models.live_catalog as live_catalog
from sidrec.core.errors import ArtifactError, InputError, SettingsError, SidrecError, TrainingError
from sidrec.data.synthetic import clusters, cycle
from sidrec.embeddings.embed import embed_catalog
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.models.item_ids import ItemIds
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.request import Request
from sidrec.sids.tokenize import TokenizeSettings, tokenize
from sidrec.training import precision

IDS = {"tokenizer": "rq-kmeans", "options": {"n_codes": 3, "codebook_size": 8, "pca": None}}
SMALL = {
    "d_model": 16,
    "n_heads": 2,
    "n_layers": 1,
    "max_history": 4,
    "attention": "prefix",
    "embedding": {"encoder": "tfidf"},
    "tokenize": IDS,
    "training": {"epochs": 1, "batch_size": 128, "metric": None},
}
NEW = pl.DataFrame({"item_id": ["new-1", "new-2"], "title": ["a new thing", "another new thing"]})
HISTORIES = [["thing-1", "thing-2"], ["thing-9"]]


@cache
def data():
    return clusters(n_clusters=4, cluster_size=6, n_users=60, length=6)


@pytest.fixture
def model() -> LLaDARec:
    return LLaDARec(**SMALL).fit(data())


def test_a_second_fit_learns_the_second_catalogue(model: LLaDARec) -> None:
    model.add_items(NEW)
    model.remove_items(["thing-3"])
    other = cycle(n_items=20, n_users=60, length=6)
    fresh = LLaDARec(**SMALL).fit(other)
    model.fit(other)
    assert model.semantic_ids.item_ids == other.catalog.item_ids.to_list()
    assert np.array_equal(model.semantic_ids.codes, fresh.semantic_ids.codes)
    assert model.stock.removed is None and not model.stock.changed
    history = [other.catalog.item_ids.to_list()[:2]]
    assert model.recommend(history, k=10).item_ids == fresh.recommend(history, k=10).item_ids


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"search": {"n_steps": 4}}, "n_steps is 4, choose 1 to 3"),
        ({"search": {"narrowing": (20, 10)}}, "narrowing names 2 beam sizes for 3 steps"),
        ({"tokenize": {**IDS, "options": {"codebook_sze": 8}}}, "codebook_sze is not a setting of rq-kmeans"),
        ({"tokenize": {**IDS, "options": {"n_codes": 2, "codebook_size": 4}}}, "24 items need an ID each"),
        ({"tokenize": {"tokenizer": "opq-kmeans"}}, "is not a tokenizer"),
        ({"training": {"precision": "fp16", "device": "cpu"}}, "this CPU has no fp16"),
        pytest.param(
            {"training": {"device": "cuda"}},
            "there is no such device here",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_embedded(changes, words, monkeypatch) -> None:
    monkeypatch.setattr(precision, "cpu_has", lambda _: False)
    monkeypatch.setattr(ItemIds, "make", lambda *_: pytest.fail("embedded first"))
    with pytest.raises(SidrecError, match=words):
        LLaDARec(**{**SMALL, **changes}).fit(data())


def test_what_validation_does_not_measure_is_no_metric() -> None:
    with pytest.raises(SettingsError, match=r"training.metric: should be 'ndcg@10'"):
        LLaDARec(training={"metric": "recall@10"})


def test_how_a_model_is_asked_does_not_change_what_it_learns() -> None:
    """Narrow beams and few steps are for the asking; validation searches in the default way."""
    learn = {"training": {"epochs": 2, "batch_size": 128}}
    plain, narrow = (
        LLaDARec(**{**SMALL, **learn, "search": search}).fit(data())
        for search in ({}, {"n_steps": 2, "narrowing": (4, 3), "order": "left-to-right"})
    )
    assert plain.training_summary()["best_value"] == narrow.training_summary()["best_value"]
    assert len(narrow.recommend(HISTORIES, k=3).item_ids[0]) == 3


@pytest.mark.parametrize("search", [{}, {"lazy": True}, {"method": "score-all"}, {"method": "score-fitting"}])
def test_weights_that_are_not_numbers_are_named_instead_of_finding_nothing(model: LLaDARec, search) -> None:
    assert model.network is not None
    with torch.no_grad():
        next(iter(model.network.parameters())).fill_(torch.nan)
    with pytest.raises(TrainingError, match="scores are not numbers; train it again with a lower learning rate"):
        model.recommend(HISTORIES, k=3, search=search)
    if not search:
        with pytest.raises(TrainingError, match="scores are not numbers"):
            model.explain(HISTORIES[0], k=3)


def test_given_ids_of_another_catalogue_are_refused_at_a_second_fit(tmp_path) -> None:
    embeddings = embed_catalog(data().catalog, EmbeddingSettings(encoder="tfidf"))
    tokenize(embeddings, TokenizeSettings(**IDS), out=tmp_path / "ids")
    model = LLaDARec(**SMALL)
    model.use_semantic_ids(tmp_path / "ids", data())
    model.fit(data())
    with pytest.raises(ArtifactError, match="semantic IDs of another catalogue"):
        model.fit(cycle(n_items=20, n_users=60, length=6))
    assert len(model.recommend(HISTORIES, k=3).item_ids[0]) == 3  # what was fitted before is still there


def test_a_fit_that_fails_leaves_the_model_as_it_was(model: LLaDARec, monkeypatch) -> None:
    before = model.recommend(HISTORIES, k=5)
    monkeypatch.setattr(ItemIds, "make", _fail)
    with pytest.raises(RuntimeError):
        model.fit(cycle(n_items=20, n_users=60, length=6))
    assert model.recommend(HISTORIES, k=5) == before


@pytest.mark.parametrize("broken", ["embed_new", "item_rows"])
def test_items_come_all_or_not_at_all(model: LLaDARec, monkeypatch, broken: str) -> None:
    before, codes = model.recommend(HISTORIES, k=30), model.semantic_ids.codes.copy()
    place = item_ids if broken == "embed_new" else live_catalog
    with monkeypatch.context() as patched:
        patched.setattr(place, broken, _fail)
        with pytest.raises(RuntimeError):
            model.add_items(NEW)
    assert model.recommend(HISTORIES, k=30) == before
    assert np.array_equal(model.semantic_ids.codes, codes) and len(model.catalog) == 24
    with pytest.raises(InputError, match="is given twice"):
        model.add_items(pl.DataFrame({"item_id": ["new-1", "new-1"], "title": ["a", "b"]}))
    assert model.recommend(HISTORIES, k=30) == before
    assert model.add_items(NEW) == ["new-1", "new-2"]
    assert {"new-1", "new-2"} <= set(model.recommend(HISTORIES, k=30).item_ids[0])


def test_a_string_is_no_list_of_items_to_remove(model: LLaDARec) -> None:
    with pytest.raises(InputError, match="a list of item ids"):
        model.remove_items("12")
    assert model.stock.removed is None


def test_a_request_may_search_in_its_own_way(model: LLaDARec) -> None:
    other = model.with_search({"n_steps": 1}).recommend(HISTORIES, k=5)
    assert model.recommend(HISTORIES, k=5, search={"n_steps": 1}) == other
    histories = data().cases("test").histories
    search = model.parsed_search({"method": "score-all"})
    asked = model.rank(Request(histories, 5, search=search))
    assert np.array_equal(asked.items, model.with_search(search).rank(Request(histories, 5)).items)
    with pytest.raises(SettingsError, match="search: beamsize is not a setting of search; did you mean beam_size"):
        model.recommend(HISTORIES, search={"beamsize": 3})


def _fail(*_: object, **__: object) -> None:
    raise RuntimeError("no")
