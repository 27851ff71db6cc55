"""One loaded model, eight threads that ask with filters, items that come and go: no answer mixes two versions."""

from __future__ import annotations

import threading
from typing import Any

import polars as pl
import pytest

import sidrec
from sidrec.data.synthetic import clusters
from sidrec.models.base import Recommender
from sidrec.models.capabilities import AddsItems

TEXT = {"embedding": {"encoder": "tfidf"}}
IDS = {"tokenize": {"tokenizer": "rq-kmeans", "options": {"n_codes": 2, "codebook_size": 8, "pca": 4}}}
SHORT = {"d_model": 8, "n_layers": 1, "n_heads": 2, "training": {"epochs": 1, "batch_size": 64}}
MODELS: dict[str, dict[str, Any]] = {
    "popularity": {},
    "sasrec-ce": SHORT,
    "llada-rec": {**SHORT, **TEXT, **IDS},
    "llada-rec-plus": {**SHORT, **TEXT, **IDS},
}
HISTORY = [["thing-1", "thing-2"]]
WAYS: list[dict[str, Any]] = [
    {},
    {"deny": ["thing-5"]},
    {"allow": {"title": ["thing 0 of cluster 1", "late thing 0"]}},
    {"exclude_seen": True},
]
N_THREADS, N_CHANGES = 8, 4

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::sidrec.core.notices.SidrecWarning")]


@pytest.fixture(params=MODELS)
def model(request, tmp_path) -> Recommender:
    data = clusters(n_clusters=3, cluster_size=8, n_users=40, length=6)
    sidrec.model(request.param, **MODELS[request.param]).fit(data).save(tmp_path / "model")
    return sidrec.load(tmp_path / "model")


def answers(model: Recommender) -> list[Any]:
    return [model.recommend(HISTORY, k=40, **way) for way in WAYS]


def change(model: Recommender, number: int) -> None:
    if isinstance(model, AddsItems) and number % 2:
        model.add_items(pl.DataFrame({"item_id": [f"late-{number}"], "title": [f"late thing {number}"]}))
    else:
        model.remove_items([f"thing-{number + 7}"])


def test_every_answer_is_that_of_some_whole_version(model):
    versions, found, stop = [answers(model)], [[] for _ in WAYS], threading.Event()

    def ask(way: int) -> None:
        while not stop.is_set() or not found[way]:
            found[way].append(model.recommend(HISTORY, k=40, **WAYS[way]))

    readers = [threading.Thread(target=ask, args=(number % len(WAYS),)) for number in range(N_THREADS)]
    for reader in readers:
        reader.start()
    for number in range(N_CHANGES):
        change(model, number)
        versions.append(answers(model))
    stop.set()
    for reader in readers:
        reader.join()
    for way, given in enumerate(found):
        assert given and all(answer in [version[way] for version in versions] for answer in given)


def test_two_changes_at_once_are_both_kept(model):
    writers = [threading.Thread(target=change, args=(model, number)) for number in range(N_THREADS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    left = model.recommend(HISTORY, k=40).item_ids[0]
    adds = isinstance(model, AddsItems)
    gone = {f"thing-{number + 7}" for number in range(N_THREADS) if number % 2 == 0 or not adds}
    new = {f"late-{number}" for number in range(N_THREADS) if number % 2 and adds}
    assert not gone & set(left) and new <= set(left) and len(left) == 24 - len(gone) + len(new)
