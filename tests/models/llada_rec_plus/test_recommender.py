from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from sidrec.core.errors import InputError, SettingsError
from sidrec.data.synthetic import clusters, cycle
from sidrec.models.llada_rec_plus.recommender import LLaDARecPlus
from sidrec.models.registry import load_model
from sidrec.models.request import Request

QUICK: dict[str, Any] = {
    "d_model": 32,
    "n_layers": 1,
    "dropout": 0.0,
    "max_history": 8,
    "embedding": {"encoder": "tfidf"},
    "tokenize": {"options": {"n_codes": 2, "codebook_size": 8, "pca": 4}},
    "training": {"epochs": 8, "batch_size": 64, "learning_rate": 0.02, "validate_every": 8},
}
DATA = clusters(n_clusters=4, cluster_size=8, n_users=120, length=6)


@cache
def fitted() -> LLaDARecPlus:
    return LLaDARecPlus(**QUICK).fit(DATA)


SLOW = [pytest.param(encoder, marks=pytest.mark.slow) for encoder in ("lru", "gru", "filter")]


@pytest.mark.parametrize("encoder", ["attention", *SLOW])
@pytest.mark.slow
def test_the_cycle_is_learned(encoder):
    data = cycle(n_items=20, n_users=200, length=10)
    cases = data.cases("test")
    first = LLaDARecPlus(**QUICK, encoder=encoder).fit(data).rank(Request(cases.histories, 1)).items[:, 0]
    assert (first == cases.targets).mean() > 0.9


@pytest.mark.slow
def test_ids_alone_are_enough():
    data = cycle(n_items=20, n_users=200, length=10)
    silent = pl.DataFrame({"item_id": data.catalog.item_ids})
    model = LLaDARecPlus(**QUICK)
    model.fit(type(data)(**{**vars(data), "catalog": type(data.catalog)(silent)}))
    cases = data.cases("test")
    assert (model.rank(Request(cases.histories, 1)).items[:, 0] == cases.targets).mean() > 0.9
    assert model.semantic_ids.codes[:, 0].tolist() == list(range(20))
    with pytest.raises(InputError, match="by identity only"):
        model.add_items(pl.DataFrame({"item_id": ["new"]}))


def new_thing(item_id: str = "new") -> pl.DataFrame:
    like = DATA.catalog.frame.filter(pl.col("item_id") == "thing-3")
    return like.with_columns(pl.lit(item_id).alias("item_id"))


@pytest.mark.slow
def test_a_new_item_competes_on_the_day_it_arrives(tmp_path):
    model = LLaDARecPlus(**QUICK, item_vectors={"identity_dropout": 0.3}).fit(DATA)
    before = model.recommend([["thing-1", "thing-2"]], k=32)
    assert model.add_items(new_thing()) == ["new"]
    after = model.recommend([["thing-1", "thing-2"]], k=33)
    assert [item for item in after.item_ids[0] if item != "new"] == before.item_ids[0]
    assert after.item_ids[0].index("new") < 9  # the things of its room come first
    assert model.recommend([["new", "thing-2"]]).unknown_items == [0]
    loaded = load_model(model.save(tmp_path / "model"))
    assert loaded.recommend([["new"], ["thing-9"]], k=33) == model.recommend([["new"], ["thing-9"]], k=33)


def test_items_that_are_known_or_given_twice_are_refused_and_nothing_changes():
    model = LLaDARecPlus(**{**QUICK, "training": {"epochs": 1}}).fit(DATA)
    network = model.network
    for wrong in (new_thing("thing-3"), pl.concat([new_thing(), new_thing()])):
        with pytest.raises(InputError, match=r"in the catalogue already|given twice"):
            model.add_items(wrong)
    assert len(model.catalog) == 32
    assert model.network is network


def test_given_ids_need_codes(tmp_path):
    with pytest.raises(SettingsError, match="codes is off"):
        LLaDARecPlus(item_vectors={"codes": False}).use_semantic_ids(tmp_path, DATA)


def test_naming_one_part_keeps_the_others():
    parts = LLaDARecPlus(item_vectors={"identity_from": 2}).settings.item_vectors
    assert parts.codes and parts.text and parts.identity_from == 2


@cache
def noisy() -> LLaDARecPlus:
    return LLaDARecPlus(**QUICK, target_row=True, partly_hidden_weight=0.2).fit(DATA)


@pytest.mark.parametrize("make", [fitted, noisy])
@pytest.mark.slow
def test_steering_never_leaves_the_condition(make):
    model = make()
    codes, ids = model.semantic_ids.codes, DATA.catalog.item_ids.to_list()
    free = model.recommend([["thing-1", "thing-2"]], k=32)
    for slot in (1, 2):
        found = model.recommend([["thing-1", "thing-2"]], k=32, like="thing-20", keep=[slot]).item_ids[0]
        agree = {ids[item] for item in np.flatnonzero(codes[:, slot - 1] == codes[20, slot - 1])}
        assert set(found) == agree
        assert "thing-20" in found
    room = model.recommend([["thing-1", "thing-2"]], k=32, like="thing-20", keep=["categories"], exclude_seen=True)
    assert set(room.item_ids[0]) == {f"thing-{item}" for item in range(16, 24)}
    assert model.recommend([["thing-1", "thing-2"]], k=32) == free


def test_whoever_is_unknown_gets_popular_items_within_the_condition():
    found = fitted().recommend([[], ["nobody"]], k=32, like="thing-20", keep=["categories"])
    assert found.fallback == [True, True]
    assert [set(row) for row in found.item_ids] == [{f"thing-{item}" for item in range(16, 24)}] * 2


ROOM = {"codes": False, "text": False, "attributes": ["categories"], "identity_dropout": 0.3}


@cache
def by_room() -> LLaDARecPlus:
    """Knows of its items only their room."""
    return LLaDARecPlus(**QUICK, item_vectors=ROOM).fit(DATA)


@pytest.mark.slow
def test_new_items_compete_by_their_attributes_and_without_them_by_nothing(tmp_path):
    model = copy.copy(by_room())
    history = [["thing-1", "thing-2"]]
    nothing = new_thing("unknown").with_columns(categories=None)
    elsewhere = new_thing("elsewhere").with_columns(categories=pl.lit(["never", "seen"]))
    model.add_items(pl.concat([new_thing(), nothing, elsewhere], how="vertical_relaxed"))
    found = model.recommend(history, k=35).item_ids[0]
    assert found.index("new") < 9 <= min(found.index("unknown"), found.index("elsewhere"))
    scores = dict(zip(found, model.recommend(history, k=35).scores[0], strict=True))
    assert scores["unknown"] == scores["elsewhere"] == 0.0, "of which nothing is known"
    assert load_model(model.save(tmp_path / "model")).recommend(history, k=35).item_ids[0] == found


@pytest.mark.slow
def test_a_kept_attribute_is_shown_to_a_network_that_has_learned_to_see_it():
    values = {"attributes": ["categories"]}
    model = LLaDARecPlus(**QUICK, target_row=True, partly_hidden_weight=0.2, item_vectors=values).fit(DATA)
    history = [["thing-1", "thing-2"]]
    steered = model.recommend(history, k=32, like="thing-20", keep=["categories"])
    filtered = model.recommend(history, k=32, allow=[f"thing-{item}" for item in range(16, 24)])
    assert set(steered.item_ids[0]) == set(filtered.item_ids[0])
    assert steered.scores != filtered.scores


def test_a_condition_that_says_nothing_is_refused():
    history = [["thing-1"]]
    for like, keep, why in (
        ("nobody", [1], "not in the catalogue"),
        ("thing-1", [], "at least one"),
        ("thing-1", [3], "from 1 to 2"),
        ("thing-1", ["colour"], "no column colour"),
        ("thing-1", "colour", "a list of code slots and columns"),
        ("thing-1", [1.5], "a list of code slots and columns"),
        (None, [1], "belong together"),
    ):
        with pytest.raises(InputError, match=why):
            fitted().recommend(history, like=like, keep=keep)
    model = copy.copy(fitted())
    model.add_items(new_thing().with_columns(categories=pl.lit([" "])))
    with pytest.raises(InputError, match="has no categories that others could share"):
        model.steered("new", ["categories"])


def test_an_explanation_adds_up():
    model, history = fitted(), ["thing-1", "thing-2"]
    generation = model.explain(history, k=31, exclude_seen=True)
    items, scores = generation.ranking.items[0][:30], generation.ranking.scores[0][:30]
    answer = model.recommend([history], k=30, exclude_seen=True)
    assert [f"thing-{item}" for item in items] == answer.item_ids[0]
    assert np.exp(scores).sum() == pytest.approx(1.0, abs=1e-4)
    logits = np.array(answer.scores[0])
    np.testing.assert_allclose(scores, logits - np.log(np.exp(logits).sum()), atol=1e-4)
    first = generation.trace.steps[0].after
    codes = model.semantic_ids.codes
    slot = int((first.codes[0, 0] >= 0).nonzero()[0, 0])
    same = codes[items, slot] == int(first.codes[0, 0, slot])
    assert float(first.scores[0, 0]) == pytest.approx(float(np.log(np.exp(scores[same]).sum())), abs=1e-4)


@pytest.mark.slow
def test_an_explanation_without_codes_names_items_at_once():
    model = LLaDARecPlus(**QUICK, item_vectors={"codes": False}).fit(DATA)
    generation = model.explain(["thing-1"], k=3)
    assert len(generation.trace.steps) == 1
    assert [f"thing-{item}" for item in generation.ranking.items[0]] == model.recommend([["thing-1"]], k=3).item_ids[0]


def test_noise_without_a_row_for_the_target_is_refused():
    with pytest.raises(SettingsError, match="set target_row = true"):
        LLaDARecPlus(partly_hidden_weight=0.2)
