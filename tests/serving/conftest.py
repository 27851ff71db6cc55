"""Tiny models behind an app, once for all tests of the room."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from reference.postgres import cluster
from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import demo_shop
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.llada_rec_plus.recommender import LLaDARecPlus
from sidrec.models.popularity import Popularity
from sidrec.serving.app import create_app
from sidrec.serving.model_store import ModelStore
from sidrec.serving.service import Service
from sidrec.serving.settings import ServeSettings

TINY = {
    "d_model": 16,
    "n_heads": 2,
    "n_layers": 1,
    "max_history": 4,
    "embedding": {"encoder": "tfidf"},
    "tokenize": {"tokenizer": "rq-kmeans", "options": {"n_codes": 3, "codebook_size": 8, "pca": None}},
    "training": {"epochs": 1, "batch_size": 128, "metric": None},
}


@pytest.fixture(scope="session")
def saved(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("served")
    demo_shop(n_items=100, n_users=60).save(folder / "data")
    shop = Dataset.load(folder / "data")
    LLaDARec(attention="prefix", **TINY).fit(shop).save(folder / "llada")
    LLaDARecPlus(**TINY).fit(shop).save(folder / "plus")
    Popularity().fit(shop).save(folder / "popular")
    return {name: folder / name for name in ("llada", "plus", "popular")}


@pytest.fixture(scope="session")
def store(saved) -> ModelStore:
    store = ModelStore(saved)
    store.load_all()
    return store


@pytest.fixture
def client(saved, store):
    service = Service.of(ServeSettings(models=saved), store)
    with TestClient(create_app(service), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="session")
def postgres():
    with cluster() as made:
        yield made
