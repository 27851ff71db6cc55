from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from reference.digit_scores import slow_scores
from reference.learning import cycle_recall, quick
from sidrec.core.errors import InputError, SettingsError
from sidrec.data.synthetic import clusters, demo_shop
from sidrec.models.item_objective import Places
from sidrec.models.registry import load_model
from sidrec.models.request import Request
from sidrec.models.rpg import RPG, DigitObjective, RPGNetwork, RPGSettings
from sidrec.nn.item_vectors import ItemFeatures

QUICK: dict[str, Any] = {
    **quick(),
    "embedding": {"encoder": "tfidf"},
    "tokenize": {"options": {"n_codes": 4, "codebook_size": 8, "pca": 8}},
}
DATA = clusters(n_clusters=4, cluster_size=8, n_users=120, length=6)
HISTORIES = [["thing-1", "thing-2"], ["thing-9"], ["thing-30", "thing-25", "thing-27"]]


@cache
def fitted() -> RPG:
    return RPG(**QUICK).fit(DATA)


def network(codes: list[list[int]], sizes: tuple[int, ...]) -> RPGNetwork:
    torch.manual_seed(0)
    settings = RPGSettings(d_model=4, n_layers=1, max_history=6)
    made = RPGNetwork(len(codes), settings, ItemFeatures(codes=torch.tensor(codes), sizes=sizes)).eval()
    torch.nn.init.normal_(made.heads.weight)
    torch.nn.init.normal_(made.heads.bias)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("method", ["graph", "full"])
def test_the_cycle_is_learned(method):
    assert cycle_recall(RPG(**QUICK, search={"method": method})) > 0.9


CODES, SIZES = [[0, 1], [2, 0], [0, 0], [1, 1]], (3, 2)


@torch.no_grad()
def test_full_scoring_equals_the_slow_twin():
    one = network(CODES, SIZES)
    queries = one.queries(torch.tensor([[0, 1], [3, 2]]))
    fast = one.scores(queries, one.item_table())
    np.testing.assert_allclose(fast.numpy(), slow_scores(one, queries, CODES, SIZES), atol=1e-4)


@torch.no_grad()
def test_the_codes_of_each_digit_share_one_probability():
    one = network(CODES, SIZES)
    log_probs = one.log_probs(one.queries(torch.tensor([[0, 1]])))
    assert log_probs.shape == (1, 2, 3)
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(1, 2))
    assert log_probs[0, 1, 2] == -torch.inf  # the second digit has two codes


def test_the_loss_is_the_mean_of_the_digits():
    one = network(CODES, SIZES)
    hidden, targets = one.hidden(torch.tensor([[0, 1, 2]]))[0], torch.tensor([1, 2, 3])
    loss = DigitObjective.place_loss(None, one, Places(hidden, targets, None))  # type: ignore[arg-type]
    by_hand = -sum(slow_scores(one, hidden.detach(), CODES, SIZES)[place, item] for place, item in enumerate([1, 2, 3]))
    assert float(loss.detach()) == pytest.approx(by_hand / 2, abs=1e-4)


def test_an_item_is_read_as_the_pooled_vectors_of_its_codes():
    one = network(CODES, SIZES)
    code = one.items.code.detach()
    torch.testing.assert_close(one.item_table()[1].detach(), code[3] + code[4])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["graph", "full"])
def test_filters_hold_both_ways(method):
    model = fitted().with_search({"method": method})
    everything = model.recommend(HISTORIES, k=8)
    allow = ["thing-1", "thing-2", "thing-9", "thing-20"]
    allowed = model.recommend(HISTORIES, k=8, allow=allow, exclude_seen=True)
    denied = model.recommend(HISTORIES, k=8, deny=[row[0] for row in everything.item_ids])
    for history, inside, best, without in zip(
        HISTORIES, allowed.item_ids, everything.item_ids, denied.item_ids, strict=True
    ):
        assert set(inside) == set(allow) - set(history)
        assert best[0] not in without and len(without) == 8
    exact = fitted().with_search({"method": "full"})
    assert allowed.item_ids == exact.recommend(HISTORIES, k=8, allow=allow, exclude_seen=True).item_ids


@pytest.mark.slow
def test_a_walk_that_filters_leave_too_little_is_answered_exactly():
    narrow = fitted().with_search({"beam_size": 1, "n_steps": 1, "expanded": 1, "likely_codes": 1})
    exact = fitted().with_search({"method": "full"})
    assert narrow.recommend(HISTORIES, k=32).item_ids == exact.recommend(HISTORIES, k=32).item_ids


@pytest.mark.slow
def test_a_new_item_competes_on_the_day_it_arrives(tmp_path):
    model = RPG(**QUICK).fit(DATA)
    model.recommend(HISTORIES)
    like = DATA.catalog.frame.filter(pl.col("item_id") == "thing-3")
    assert model.add_items(like.with_columns(pl.lit("new").alias("item_id"))) == ["new"]
    after = model.recommend([["thing-1", "thing-2"]], k=33)
    assert after.item_ids[0].index("new") < 9  # the things of its room come first
    loaded = load_model(model.save(tmp_path / "model"))
    assert loaded.recommend([["new"], ["thing-9"]], k=33) == model.recommend([["new"], ["thing-9"]], k=33)


def test_what_has_no_meaning_is_refused():
    with pytest.raises(SettingsError, match="leave repeat off"):
        RPG(repeat="once")
    with pytest.raises(SettingsError, match=r"keep item_vectors\.codes"):
        RPG(item_vectors={"codes": False, "identity": True})
    silent = type(DATA.catalog)(pl.DataFrame({"item_id": DATA.catalog.item_ids}))
    with pytest.raises(InputError, match="rpg needs semantic IDs"):
        RPG(**QUICK, item_vectors={"identity": True}).fit(type(DATA)(**{**vars(DATA), "catalog": silent}))


@pytest.mark.slow
def test_a_walk_finds_the_best_items_of_the_demo_shop():
    """At its default width; two short epochs, so that digits are neither random nor sure."""
    data = demo_shop(n_users=600)
    training = {"epochs": 2, "batch_size": 64, "learning_rate": 0.006, "metric": None}
    tokenize = {"options": {"rotation_rounds": 1}}
    model = RPG(d_model=32, embedding={"encoder": "tfidf"}, tokenize=tokenize, training=training).fit(data)
    request = Request(data.cases("test").histories, 10, exclude_seen=True).take(np.arange(200))
    walked, exact = model.rank(request).items, model.with_search({"method": "full"}).rank(request).items
    found = np.mean([len(set(one) & set(other)) for one, other in zip(walked.tolist(), exact.tolist(), strict=True)])
    assert found / 10 >= 0.95
