"""This week's model begins with last week's: known items keep what they had, by their ids; new ones begin anew."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from sidrec.core.errors import InputError, SettingsError
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories
from sidrec.data.synthetic import clusters
from sidrec.data.synthetic.assemble import leave_one_out_dataset
from sidrec.models.base import Recommender
from sidrec.models.bert4rec import BERT4Rec
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.llada_rec_plus.recommender import LLaDARecPlus
from sidrec.models.popularity import Popularity
from sidrec.models.registry import find_model, load_model
from sidrec.training import loop
from sidrec.training.weights import learned

pytestmark = pytest.mark.slow
WEEK = clusters(n_clusters=3, cluster_size=6, n_users=40, length=5)
IDS = {"tokenizer": "rq-kmeans", "options": {"n_codes": 3, "codebook_size": 8, "pca": None}}
SMALL: dict[str, Any] = {
    "d_model": 16,
    "n_layers": 1,
    "max_history": 4,
    "embedding": {"encoder": "tfidf"},
    "tokenize": IDS,
    "training": {"epochs": 1, "batch_size": 64, "metric": None},
}


def next_week() -> Dataset:
    """The same shop in another order: two items are gone, two are new, and users went on."""
    frame = WEEK.catalog.frame
    new = pl.DataFrame(
        {"item_id": ["new-a", "new-b"], "title": ["thing for the garden 1", "thing"], "categories": [["things"], []]}
    )
    kept = frame.filter(~pl.col("item_id").is_in(["thing-0", "thing-17"]))
    catalog = Catalog(pl.concat([new[:1], kept.reverse(), new[1:]]))
    rows = [catalog.index_of(frame["item_id"].gather(row).to_list()) for row in WEEK.sequences]
    lists = [[*row[row >= 0], (number * 5) % 18] for number, row in enumerate(rows)]
    return leave_one_out_dataset(catalog.frame, Histories.from_lists(lists))


NEXT = next_week()


@cache
def last_week(key: str) -> Recommender:
    values = {name: value for name, value in SMALL.items() if name in settings_of(key)}
    return find_model(key).make(**values).fit(WEEK)


def settings_of(key: str) -> set[str]:
    return set(find_model(key).load_class().settings_class.model_fields)


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training does nothing: what a model begins with is what it ends with."""

    def stand_still(self: object, *_: object) -> dict[str, float]:
        return {"loss": 0.0}

    monkeypatch.setattr(loop._Run, "_step", stand_still)


@pytest.mark.parametrize("key", ["sasrec-ce", "gru4rec", "bert4rec", "llada-rec-plus"])
def test_rows_go_with_the_items(key: str, untrained: None) -> None:
    before = last_week(key)
    after = before.successor().fit(NEXT)
    fresh = type(before)(after.settings, key=key).fit(NEXT)
    old, new, anew = (model.network.items.weight.detach() for model in (before, after, fresh))
    for item, item_id in enumerate(NEXT.catalog.item_ids.to_list()):
        at = int(before.catalog.index_of([item_id])[0])
        if at >= 0 or key != "llada-rec-plus":  # a fresh Plus has drawn for another text table before
            assert torch.equal(new[item], old[at] if at >= 0 else anew[item]), item_id
    assert new[0].std() > 0
    assert torch.equal(new[NEXT.n_items :], old[WEEK.n_items :])  # BERT4Rec's [MASK]
    for name, tensor in learned(after.network).items():
        if not name.startswith("items."):
            assert torch.equal(tensor, learned(before.network)[name]), name


@pytest.mark.parametrize("key", ["llada-rec", "tiger", "llada-rec-plus", "vq-rec"])
def test_old_items_keep_their_ids_and_new_ones_get_theirs(key: str, untrained: None) -> None:
    before = last_week(key)
    after = before.successor().fit(NEXT)
    codes = dict(zip(before.semantic_ids.item_ids, before.semantic_ids.codes.tolist(), strict=True))
    for item_id, code in zip(after.semantic_ids.item_ids, after.semantic_ids.codes.tolist(), strict=True):
        assert code == codes.get(item_id, code)
    assert after.semantic_ids.item_ids == NEXT.catalog.item_ids.to_list()
    assert after.semantic_ids.n_colliding == 0 or key == "vq-rec"
    assert after.recommend([["thing-4"]], k=18).item_ids[0].count("new-a") == 1


def test_llada_rec_begins_with_all_weights(untrained: None) -> None:
    before = last_week("llada-rec")
    after = before.successor().fit(NEXT)
    assert all(torch.equal(learned(after.network)[name], tensor) for name, tensor in learned(before.network).items())


def test_text_and_attributes_of_plus(untrained: None) -> None:
    brands = {"x": "acme", "y": "zoll"}
    frame = WEEK.catalog.frame.with_columns(brand=pl.Series([brands["xy"[item % 2]] for item in range(18)]))
    week = Dataset(**{**vars(WEEK), "catalog": Catalog(frame)}).with_content_fingerprint()
    told = NEXT.catalog.frame.with_columns(brand=pl.lit("acme")).with_columns(
        brand=pl.when(pl.col("item_id") == "new-a").then(pl.lit("aaa")).otherwise("brand")
    )
    new = Dataset(**{**vars(NEXT), "catalog": Catalog(told)}).with_content_fingerprint()
    parts = {"identity": True, "codes": True, "text": True, "attributes": ["brand"], "text_width": 4}
    before = LLaDARecPlus(**SMALL, item_vectors=parts).fit(week)
    after = before.successor().fit(new)
    items, old = after.network.items, before.network.items
    assert items.slot_sizes == (8, 8, 8, 3) and old.slot_sizes == (8, 8, 8, 2)
    assert torch.equal(items.code[:27], old.code[:27]) and torch.equal(items.project, old.project)
    at = [int(new.catalog.index_of([name])[0]) for name in ("thing-4", "new-a")]
    assert items.tokens[at, 3].tolist() == [25, 27]  # acme keeps its code, aaa comes behind
    assert torch.equal(items.text[at[0]], old.text[4])
    history = week.catalog.item_ids.to_list()[3:5]
    assert after.recommend([history]).item_ids[0] and not np.isnan(after.item_vectors()).any()


def test_what_was_removed_stays_removed(tmp_path: Path, untrained: None) -> None:
    before = LLaDARec(**SMALL, n_heads=2).fit(WEEK)
    before.remove_items(["thing-0", "thing-4"])
    after = before.successor().fit(NEXT, out=tmp_path / "m")
    assert "thing-4" not in after.recommend([["thing-5"]], k=18).item_ids[0]
    again = load_model(tmp_path / "m")
    assert again.stock.removed is not None and again.stock.removed.sum() == 1 and not again.stock.changed
    again.restore_items(["thing-4"])
    assert "thing-4" in again.recommend([["thing-5"]], k=18).item_ids[0]


def test_its_name_tells_where_it_began(tmp_path: Path) -> None:
    before = last_week("sasrec-ce")
    after = before.successor(training={"epochs": 2}).fit(NEXT, out=tmp_path / "m")
    assert after.started_from and after.settings.training.epochs == 2 and after.settings.d_model == 16
    again = load_model(tmp_path / "m")
    assert again.origin(NEXT.fingerprint) == after.origin(NEXT.fingerprint)
    assert before.successor(training={"epochs": 2}).standing(tmp_path / "m", NEXT.fingerprint).done
    assert not type(before)(after.settings, key="sasrec-ce").standing(tmp_path / "m", NEXT.fingerprint).same
    assert before.successor(training={"epochs": 3}).standing(tmp_path / "m", NEXT.fingerprint).goes_on
    anew = again.fit(NEXT)
    assert anew.started_from == ""  # a fit of its own begins anew


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"d_model": 32}, "these settings make another network: .*; leave those of its size as they were"),
        ({"tokenize": {"options": {"n_codes": 2}}}, "tokenize: stays what it was in the earlier model"),
        ({"embedding": {"pca": 4}}, "embedding: stays what it was in the earlier model"),
        ({"d_modle": 32}, "did you mean d_model"),
    ],
)
def test_what_cannot_change_is_said(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        last_week("llada-rec").successor(**changes).fit(NEXT)


def test_who_cannot_go_on_says_so() -> None:
    with pytest.raises(InputError, match="popularity cannot begin with what another one has learned"):
        Popularity().fit(WEEK).successor()
    with pytest.raises(InputError, match="not fitted yet"):
        BERT4Rec().successor()
    with pytest.raises(SettingsError, match="keeps its semantic IDs; leave others out"):
        last_week("llada-rec").successor().use_semantic_ids(Path("ids"), NEXT)


def test_own_vectors_lie_elsewhere_every_week(tmp_path: Path, untrained: None) -> None:
    vectors = np.random.default_rng(0).normal(size=(18, 6)).astype(np.float32)
    np.save(tmp_path / "one.npy", vectors)
    before = LLaDARec(**{**SMALL, "embedding": {"vectors": tmp_path / "one.npy"}}, n_heads=2).fit(WEEK)
    (tmp_path / "one.npy").unlink()
    with pytest.raises(InputError, match=r"one\.npy: no such file of vectors"):
        before.successor().fit(NEXT)
    new, file = {"item_id": ["new-a", "new-b"], "vector": [vectors[3].tolist()] * 2}, tmp_path / "two.parquet"
    pl.DataFrame(new).write_parquet(file)
    after = before.successor(embedding={"vectors": file}).fit(NEXT)
    codes = dict(zip(after.semantic_ids.item_ids, after.semantic_ids.codes.tolist(), strict=True))
    assert codes["new-a"][0] == codes["thing-3"][0]
    assert "embedding.vectors" in after.origin(NEXT.fingerprint).made_from
