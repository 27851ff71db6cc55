"""TIGER and its rows as users meet them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from reference.learning import cycle_recall
from sidrec.core.errors import InputError, SettingsError
from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import clusters
from sidrec.models.registry import find_model, load_model
from sidrec.models.request import Request
from sidrec.models.tiger.recommender import TIGER

IDS = {"tokenizer": "rq-kmeans", "options": {"n_codes": 2, "codebook_size": 8, "pca": None}}
SMALL: dict[str, Any] = {
    "d_model": 16,
    "n_heads": 2,
    "d_head": 8,
    "n_layers": 1,
    "d_ff": 32,
    "max_history": 4,
    "embedding": {"encoder": "tfidf"},
    "tokenize": IDS,
    "training": {"epochs": 1, "batch_size": 128, "metric": None},
}
QUICK: dict[str, Any] = {
    **SMALL,
    "d_model": 32,
    "d_ff": 64,
    "dropout": 0.0,
    "training": {"epochs": 12, "batch_size": 64, "learning_rate": 1e-2, "validate_every": 12},
}
HISTORIES = [["thing-1", "thing-2"], ["thing-9"]]
NEW = pl.DataFrame(
    {
        "item_id": ["new-1", "new-2"],
        "title": ["thing for the kitchen 0", "another new thing"],
        "categories": [["things", "kitchen 0"], ["things", "moon 9"]],
    }
)


@cache
def data() -> Dataset:
    return clusters(n_clusters=4, cluster_size=6, n_users=60, length=6)


@cache
def model() -> TIGER:
    return TIGER(**SMALL).fit(data())


@pytest.mark.slow
def test_a_code_that_counts_parts_the_items_of_one_text() -> None:
    """All items of a cluster have one text and so one vector: the first codes are the same, the last tells them."""
    ids = model().semantic_ids
    assert ids.n_codes == 3 and ids.n_unique == 24
    assert len(np.unique(ids.codes[:6, :2], axis=0)) == 1
    assert sorted(ids.codes[:6, 2].tolist()) == [0, 1, 2, 3, 4, 5]


def test_the_published_ids_are_the_default() -> None:
    tokenize = TIGER().settings.tokenize
    assert tokenize.tokenizer == "rq-vae" and tokenize.collisions == "extra-code"
    assert tokenize.build().codebook_sizes == (256, 256, 256)
    other = TIGER(tokenize={"tokenizer": "opq"}).settings.tokenize
    assert other.build().codebook_sizes == (256, 256, 256)  # what was not named stays


@pytest.mark.slow
def test_users_have_a_say() -> None:
    histories = HISTORIES * 8
    nobody = model().recommend(histories, k=5)
    known = model().recommend(histories, k=5, users=[f"user-{number}" for number in range(16)])
    assert nobody.item_ids[::2] == [nobody.item_ids[0]] * 8
    assert len({tuple(scores) for scores in known.scores[::2]}) > 4


@pytest.mark.slow
def test_a_generation_is_told_step_by_step() -> None:
    generation = model().explain(HISTORIES[0], k=3, exclude_seen=True)
    words = "\n".join(generation.in_words(data().catalog.titles))
    assert len(generation.trace.steps) == 3 and "Step 3" in words
    assert [step.chosen.unique().tolist() for step in generation.trace.steps] == [[0], [1], [2]]
    answer = model().recommend(HISTORIES[:1], k=3, exclude_seen=True)
    items = data().catalog.item_ids.gather(generation.ranking.items[0]).to_list()
    assert items == answer.item_ids[0]


@pytest.mark.slow
def test_a_known_users_generation_is_that_users() -> None:
    ranked = model().recommend(HISTORIES[:1], k=3, users=["user-3"])
    told = model().explain(HISTORIES[0], k=3, user="user-3").ranking
    assert data().catalog.item_ids.gather(told.items[0]).to_list() == ranked.item_ids[0]
    assert told.scores[0].tolist() == pytest.approx(ranked.scores[0])


def test_other_ways_of_searching_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"search\.order"):
        TIGER(order="adaptive")


@pytest.mark.slow
def test_beams_may_narrow() -> None:
    narrow = model().recommend(HISTORIES, k=2, search={"narrowing": (8, 4, 2)})
    assert [len(ids) for ids in narrow.item_ids] == [2, 2]


@pytest.mark.slow
def test_new_items_get_ids_and_are_recommended(tmp_path) -> None:
    grown = TIGER(**SMALL).fit(data())
    assert grown.add_items(NEW) == ["new-1", "new-2"]
    codes = grown.semantic_ids.codes
    assert codes[24, :2].tolist() == codes[0, :2].tolist() and codes[24, 2] == 6  # counted on behind its six likes
    answer = grown.recommend(HISTORIES, k=26)
    assert {"new-1", "new-2"} <= set(answer.item_ids[0])
    again = load_model(grown.save(tmp_path / "model"))
    assert again.recommend([["new-1", "thing-3"]], k=9) == grown.recommend([["new-1", "thing-3"]], k=9)


@pytest.mark.slow
def test_vectors_of_a_model_say_nothing_of_new_items() -> None:
    source = {"d_model": 8, "n_layers": 1, "training": {"epochs": 1}}
    embedding = {"from_model": "sasrec-ce", "model_settings": source}
    fitted = find_model("tiger-sas").make(**{**SMALL, "embedding": embedding}).fit(data())
    assert isinstance(fitted, TIGER) and fitted.key == "tiger-sas"
    with pytest.raises(InputError, match="give the vectors of the new items, or train again with them"):
        fitted.add_items(NEW)
    assert len(fitted.catalog) == 24


@pytest.mark.slow
def test_the_cycle_is_learned() -> None:
    assert cycle_recall(TIGER(**QUICK, ranking_temperature=0.7)) > 0.9


@pytest.mark.slow
def test_clusters_are_learned() -> None:
    shop = clusters(n_clusters=4, cluster_size=8, n_users=200, length=6)
    cases = shop.cases("test")
    found = TIGER(**QUICK).fit(shop).rank(Request(cases.histories, 3, exclude_seen=True)).items
    assert (found // 8 == cases.targets[:, None] // 8).mean() > 0.95
