"""LLaDA-Rec as users meet it: learns a known answer, generates real items only, takes new items, survives a disk."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from sidrec.core.errors import ArtifactError, InputError, SettingsError
from sidrec.data.synthetic import clusters, cycle
from sidrec.embeddings.embed import embed_catalog
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.metrics.ranking import ranks_of, recall_at
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.registry import load_model
from sidrec.models.request import Request
from sidrec.sids.tokenize import TokenizeSettings, tokenize

IDS = {"tokenizer": "rq-kmeans", "options": {"n_codes": 3, "codebook_size": 8, "pca": None}}
SMALL = {
    "d_model": 16,
    "n_heads": 2,
    "n_layers": 1,
    "max_history": 4,
    "embedding": {"encoder": "tfidf"},
    "tokenize": IDS,
    "training": {"epochs": 2, "batch_size": 128, "learning_rate": 3e-3, "metric": None},
}
WAYS = [
    {"n_steps": steps, "order": order, "method": "beam"}
    for steps in (1, 2, 3)
    for order in ("adaptive", "left-to-right", "right-to-left")
] + [{"method": "score-all"}, {"method": "score-fitting"}, {"lazy": True}, {"frozen_history": True}]


PATTERNS = ["prefix", "bidirectional", "causal", "inter-item-causal", "intra-item-causal"]


@cache
def data():
    return clusters(n_clusters=5, cluster_size=8, n_users=80, length=6)


@cache
def model(attention: str = "prefix") -> LLaDARec:
    return LLaDARec(**SMALL, attention=attention).fit(data())


@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    [
        {"attention": "bidirectional"},
        {"attention": "prefix"},
        {"attention": "inter-item-causal", "positions": "absolute", "samples": "one-pass"},
    ],
    ids=lambda way: way["attention"],
)
def test_cycle_is_learned(way: dict[str, str]) -> None:
    """After item i comes item i + 1, always."""
    assert cycle_recall(max_history=2, **way) > 0.9


def cycle_recall(**settings: object) -> float:
    """Recall@1 on the test items of a cycle, all of whose users are equally long."""
    shop = cycle(n_items=40, n_users=200, length=8)
    training = {"epochs": 20, "batch_size": 64, "learning_rate": 1e-2, "metric": None, "weight_decay": 0.0}
    base = SMALL | {"d_model": 32, "dropout": 0.0, "history_mask_weight": 0.3, "training": training}
    cases = shop.cases("test")
    ranking = LLaDARec(**base | settings).fit(shop).rank(Request(cases.histories, 10))
    return recall_at(ranks_of(ranking.items, cases.targets), 1)


@pytest.mark.slow
def test_the_history_loss_alone_can_learn_the_next_item_where_it_masks_the_target_too() -> None:
    """Over the history alone it never trains the target's place, so that ablation would hold by construction."""
    alone = {"next_item_loss": False, "max_history": 2, "history_mask_weight": 3.0}
    assert cycle_recall(**alone, masking={"history_input": "history-and-target"}) > 0.6


@pytest.mark.slow
def test_one_pass_answers_for_histories_longer_than_any_in_training() -> None:
    """Were places counted from the oldest item, a test item would stand where no training target stood."""
    one_pass = {"attention": "inter-item-causal", "positions": "authors", "samples": "one-pass"}
    assert cycle_recall(max_history=20, **one_pass, dropout=0.0, d_model=48) > 0.9


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("attention", PATTERNS)
def test_every_way_returns_real_items_in_falling_order(attention: str, way: dict[str, object]) -> None:
    ranking = model(attention).with_search(way).rank(Request(data().cases("test").histories, 10))
    assert (ranking.items >= 0).all()
    assert all(len(set(row)) == 10 for row in ranking.items.tolist())
    assert (np.diff(ranking.scores, axis=1) <= 1e-6).all()


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_finds_exactly_the_allowed_items(way: dict[str, object]) -> None:
    """Ten results whenever ten items are allowed, even when they are the only ones."""
    allowed = np.zeros(data().n_items, bool)
    allowed[::4] = True
    histories = data().cases("test").histories
    ranking = model().with_search(way).rank(Request(histories, 12, allowed))
    wanted = np.flatnonzero(allowed).tolist()
    assert len(wanted) == 10
    for row in ranking.items:
        assert sorted(row[:10].tolist()) == wanted and (row[10:] == -1).all()


def test_unconstrained_search_reports_what_is_invalid() -> None:
    free = model().with_search({"only_real_items": False})
    report = free.rank_report(Request(data().cases("test").histories, 10))
    codes = report.codes
    assert codes is not None
    real = {tuple(row) for row in model().semantic_ids.codes.tolist()}
    invalid = [sum(tuple(code) not in real for code in user.tolist()) for user in codes]
    assert report.invalid.tolist() == invalid and sum(invalid) > 0
    assert report.duplicates.sum() == 0 and (report.generated == 10).all()
    assert ((report.ranking.items >= 0).sum(1) == 10 - report.invalid).all()


def test_exclude_seen_inside_the_search() -> None:
    histories = data().cases("test").histories
    ranking = model().rank(Request(histories, 10, exclude_seen=True))
    for history, row in zip(histories, ranking.items, strict=True):
        assert not set(history.tolist()) & set(row.tolist())
        assert (row >= 0).all()


def test_batch_company_changes_nothing() -> None:
    histories = data().cases("test").histories
    together = model().rank(Request(histories, 5))
    alone = model().rank(Request(histories.take(np.array([7])), 5))
    assert together.items[7].tolist() == alone.items[0].tolist()
    assert np.allclose(together.scores[7], alone.scores[0], atol=1e-5)


def test_search_settings_for_one_call_only() -> None:
    history = [data().catalog.item_ids.to_list()[:3]]
    before = model().recommend(history, k=3)
    model().recommend(history, k=3, search={"beam_size": 3, "n_steps": 1})
    assert model().recommend(history, k=3) == before
    with pytest.raises(SettingsError, match="did you mean beam_size"):
        model().recommend(history, search={"beam_sise": 3})


@pytest.mark.slow
def test_new_items_can_be_recommended_and_others_keep_their_scores(tmp_path: Path) -> None:
    """500 new items with text like the old ones: all of them can come back, and nothing else changes."""
    roomy = {"tokenizer": "rq-kmeans", "options": {"n_codes": 3, "codebook_size": 16, "pca": None}}
    fitted = LLaDARec(**SMALL | {"tokenize": roomy}, attention="prefix").fit(data())
    history = [data().catalog.item_ids.to_list()[:3]]
    before = fitted.recommend(history, k=40)
    ids_before = fitted.semantic_ids.codes.copy()
    text = pl.concat([data().catalog.frame.drop("item_id")] * 13)[:500]
    names = [f"new-{n}" for n in range(500)]
    assert fitted.add_items(text.with_columns(pl.Series("item_id", names))) == names
    assert (fitted.semantic_ids.codes[: len(ids_before)] == ids_before).all()
    assert fitted.semantic_ids.n_unique == 540
    after = fitted.recommend(history, k=540)
    assert set(names) <= set(after.item_ids[0])
    # a score is the sum along the slots in the order they were filled: equal where that order is, here always left to
    # right, whatever else is in the index
    fixed = {"order": "left-to-right", "beam_size": 540}
    free = LLaDARec(**SMALL | {"tokenize": roomy}, attention="prefix").fit(data()).recommend(history, 40, search=fixed)
    old_scores = dict(zip(free.item_ids[0], free.scores[0], strict=True))
    again = fitted.recommend(history, 540, search=fixed)
    new_scores = dict(zip(again.item_ids[0], again.scores[0], strict=True))
    assert len(before.item_ids[0]) == 40
    for item, score in old_scores.items():
        assert new_scores[item] == pytest.approx(score, abs=1e-5)
    fitted.remove_items(["new-3"])
    loaded = load_model(fitted.save(tmp_path / "model"))
    kept = loaded.recommend(history, k=540)
    assert "new-3" not in kept.item_ids[0] and "new-2" in kept.item_ids[0]
    assert kept == fitted.recommend(history, k=540)
    assert loaded.recommend([["new-3"]], k=3).fallback == [False]  # a removed item still speaks in histories


def test_models_that_share_weights_have_their_own_new_items() -> None:
    """Two copies take different items under the same number: each knows only its own."""
    one, other, text = copy.copy(model()), copy.copy(model()), data().catalog.frame
    one.add_items(text[:1].with_columns(pl.Series("item_id", ["x"])))
    other.add_items(text[20:21].with_columns(pl.Series("item_id", ["y"])))
    new = torch.tensor([40])
    for changed in (one, other):
        assert changed.network.item_tokens.codes_of(new).tolist() == changed.semantic_ids.codes[40:].tolist()
    assert one.semantic_ids.codes[40].tolist() != other.semantic_ids.codes[40].tolist()
    assert len(model().network.item_tokens.codes) == 41
    assert "x" in one.recommend([["x"]], 41).item_ids[0]


def test_new_items_must_fit_the_catalogue() -> None:
    known = data().catalog.item_ids[0]
    with pytest.raises(InputError, match="is in the catalogue already"):
        model().add_items(data().catalog.frame[:1])
    with pytest.raises(InputError, match="item_id"):
        model().add_items(pl.DataFrame({"title": ["x"]}))
    with pytest.raises(InputError, match="colour"):
        model().add_items(pl.DataFrame({"item_id": ["x"], "colour": ["red"]}))
    with pytest.raises(InputError, match="not in the catalogue"):
        model().remove_items([known, "nowhere"])


@pytest.mark.slow
def test_ids_of_another_catalogue_are_refused(tmp_path: Path) -> None:
    other = cycle(n_items=20, n_users=10)
    embeddings = embed_catalog(other.catalog, EmbeddingSettings(encoder="tfidf"))
    tokenize(embeddings, TokenizeSettings(**IDS), out=tmp_path / "ids")
    with pytest.raises(ArtifactError, match="another catalogue"):
        LLaDARec(**SMALL).use_semantic_ids(tmp_path / "ids", data())


def test_the_paper_as_a_preset() -> None:
    """What is given is laid over it; only its values are kept."""
    paper = LLaDARec(preset="paper", d_model=64, masking={"next_item": "exact-count"}).settings
    assert (paper.d_model, paper.n_layers, paper.head, paper.positions) == (64, 4, "shared", "authors")
    assert (paper.masking.next_item, paper.masking.history_scale) == ("exact-count", "sum")
    assert paper.search.confidence == "all" and paper.tokenize.options["code_width"] == 32
    again = type(paper).parse(paper.model_dump(mode="json"), owner="llada-rec")
    assert again == paper
    assert LLaDARec(preset="paper", tokenize={"tokenizer": "opq"}).settings.tokenize.options == {}
    with pytest.raises(SettingsError, match="preset"):
        LLaDARec(preset="papers")


def test_attention_dropout_reaches_the_attention() -> None:
    module = LLaDARec(**SMALL, attention_dropout=0.25)._build(model().semantic_ids)
    assert [block.attention_dropout for block in module.transformer.layers()] == [0.25]


def test_settings_that_contradict_each_other() -> None:
    with pytest.raises(SettingsError, match="needs positions = authors"):
        LLaDARec(samples="one-pass", attention="inter-item-causal")
    with pytest.raises(SettingsError, match="inter-item-causal"):
        LLaDARec(samples="one-pass")
    with pytest.raises(SettingsError, match="both losses"):
        LLaDARec(next_item_loss=False, history_mask_weight=0)
    with pytest.raises(SettingsError, match="did you mean d_model"):
        LLaDARec(d_modle=3)


def test_explanation_follows_the_beam_to_the_same_list() -> None:
    history = data().catalog.item_ids.to_list()[:3]
    explained = model().explain(history, k=5)
    listed = model().recommend([history], k=5)
    ids = data().catalog.item_ids.to_list()
    assert [ids[item] for item in explained.ranking.items[0]] == listed.item_ids[0]
    assert len(explained.trace.steps) == 3
