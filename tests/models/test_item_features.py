"""Item vectors and the repeat term in every item-ID model."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from reference.learning import quick
from sidrec.core.errors import InputError, SettingsError
from sidrec.core.progress import SilentProgress
from sidrec.data.catalog import Catalog
from sidrec.data.synthetic import clusters, cycle, habits
from sidrec.embeddings.embed import embed_catalog
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.embeddings.tfidf import TfidfEncoder
from sidrec.models.attributes import Attributes
from sidrec.models.item_features import Describer, ItemFacts, ItemVectorSettings
from sidrec.models.item_ids import ItemIds
from sidrec.models.item_objective import ItemNetwork
from sidrec.models.item_scorer import ItemScorer
from sidrec.models.registry import MODELS, find_model, load_model
from sidrec.models.request import Request
from sidrec.sids.tokenize import TokenizeSettings, tokenize

KEYS = [row.key for row in MODELS if row.family == "item-id"]
TOKENIZE = {"tokenizer": "opq", "options": {"n_codes": 2, "codebook_size": 6, "pca": 4}}
ALL_PARTS = {
    "codes": True,
    "text": True,
    "attributes": ["categories"],
    "text_width": 4,
    "identity_from": 2,
    "identity_dropout": 0.1,
}
TEXT = {"embedding": {"encoder": "tfidf"}, "tokenize": TOKENIZE}
DATA = clusters(n_clusters=4, cluster_size=6, n_users=60, length=5)


def build(key: str, **values: Any) -> ItemScorer:
    model = find_model(key).load_class()(**quick(epochs=1, **values))
    assert isinstance(model, ItemScorer)
    return model


@pytest.mark.parametrize("key", KEYS)
def test_every_model_takes_all_parts_and_is_the_same_after_loading(key, tmp_path):
    model = build(key, item_vectors=ALL_PARTS, **TEXT, repeat="off" if key == "dreamrec" else "by-age").fit(DATA)
    assert isinstance(model.network, ItemNetwork)
    assert model.network.items.slot_sizes == (6, 6, 4)
    assert model.network.items.text is not None
    loaded = load_model(model.save(tmp_path / "model"))
    histories = [["thing-1", "thing-2"], ["thing-20"]]
    assert loaded.recommend(histories, k=5) == model.recommend(histories, k=5)


SLOW = {"fmlp-rec", "diffurec", "gru4rec"}
LEARN_REPEATS = [pytest.param(key, marks=pytest.mark.slow if key in SLOW else ()) for key in KEYS if key != "dreamrec"]


@pytest.mark.parametrize("key", LEARN_REPEATS)
@pytest.mark.slow
def test_the_repeat_term_learns_again_soon_and_elsewhere_never_again(key):
    again = build(key, repeat="by-age", training={"epochs": 6, "batch_size": 64, "learning_rate": 0.02})
    again.fit(habits(n_users=200, length=8))
    never = build(key, repeat="once", training={"epochs": 6, "batch_size": 64, "learning_rate": 0.02})
    never.fit(DATA)
    soon, rarely = rho(again), rho(never)
    assert soon[1] == max(soon)
    assert soon[1] > 0.1
    assert rarely[0] < -0.05


def rho(model: ItemScorer) -> list[float]:
    assert model.network is not None
    assert model.network.repeat is not None
    found: list[float] = model.network.repeat.rho.tolist()
    return found


def test_what_comes_again_is_recommended_again():
    data = habits(n_users=200, length=8)
    cases = data.cases("test")
    hits = []
    for repeat in ("off", "by-age"):
        training = {"epochs": 6, "batch_size": 64, "learning_rate": 0.02}
        model = build("sasrec-ce", repeat=repeat, training=training).fit(data)
        hits.append(float((model.rank(Request(cases.histories, 1)).items[:, 0] == cases.targets).mean()))
    assert hits[1] > 0.8 > hits[0]


def test_dreamrec_has_no_scores_to_learn_a_repeat_term_from():
    with pytest.raises(SettingsError, match="trained without scores"):
        build("dreamrec", repeat="once")


def test_no_part_at_all_is_refused():
    with pytest.raises(SettingsError, match="switches every part off"):
        build("sasrec-ce", item_vectors={"identity": False})
    with pytest.raises(SettingsError, match="need a part that speaks without it"):
        build("sasrec-ce", item_vectors={"identity_from": 3})


def describer(**parts: Any) -> Describer:
    return Describer(ItemVectorSettings(**parts), EmbeddingSettings(encoder="tfidf"), TokenizeSettings(**TOKENIZE))


def test_a_catalogue_without_text_goes_without_it():
    catalog = Catalog(pl.DataFrame({"item_id": ["a", "b"], "title": ["", None]}))
    silent = replace(cycle(n_items=2, n_users=3, length=4), catalog=catalog)
    assert describer(codes=True, text=True).describe(silent, SilentProgress()) == (None, ItemFacts())
    with pytest.raises(InputError, match="nothing is known of the items but their identity"):
        describer(codes=True, identity=False).describe(silent, SilentProgress())


def test_text_behind_given_ids_is_not_embedded_again(tmp_path, monkeypatch):
    data, embedding = clusters(n_clusters=4, cluster_size=6, n_users=30, length=4), EmbeddingSettings(encoder="tfidf")
    embed_catalog(data.catalog, embedding, out=tmp_path / "old" / "emb")
    tokenize(ItemEmbeddings.load(tmp_path / "old" / "emb"), TokenizeSettings(**TOKENIZE), out=tmp_path / "old" / "ids")
    (tmp_path / "old").rename(tmp_path / "moved")
    given = ItemIds.take(tmp_path / "moved" / "ids", data.catalog)
    wanted = describer(codes=True, text=True).describe(data, SilentProgress())[1].text
    with monkeypatch.context() as patch:
        patch.setattr(TfidfEncoder, "batches", lambda *_: pytest.fail("embedded again"))
        found = describer(codes=True, text=True).describe(data, SilentProgress(), given=given)[1].text
    assert wanted is not None and found is not None
    np.testing.assert_allclose(found.vectors, wanted.vectors, atol=1e-5)
    other = Describer(
        ItemVectorSettings(codes=True, text=True), EmbeddingSettings(encoder="tfidf", pca=3), TokenizeSettings()
    )
    text = other.describe(data, SilentProgress(), given=given)[1].text
    assert text is not None and text.vectors.shape[1] == 3, "vectors made in another way are not taken"
    shutil.rmtree(tmp_path / "moved" / "emb")
    again = describer(codes=True, text=True).describe(data, SilentProgress(), given=given)[1].text
    assert again is not None and again.vectors.shape == wanted.vectors.shape


def test_attributes_are_codes_of_their_columns():
    frame = pl.DataFrame(
        {"item_id": ["a", "b", "c"], "brand": ["Zoll", None, "Ampel"], "kind": [["x", "y"], ["x"], []]}
    )
    attributes = Attributes.of(Catalog(frame), ("brand", "kind"))
    assert attributes.values == {"brand": ["Ampel", "Zoll"], "kind": ["x", "x > y"]}
    assert attributes.codes(Catalog(frame)).tolist() == [[1, 1], [-1, 0], [0, -1]]
    new = pl.DataFrame({"item_id": ["d"], "brand": ["Neu"]})
    assert attributes.codes(Catalog(new)).tolist() == [[-1, -1]]
    with pytest.raises(InputError, match="no column colour"):
        Attributes.of(Catalog(frame), ("colour",))


def test_items_taken_too_rarely_have_no_identity():
    model = build("sasrec-ce", item_vectors={**ALL_PARTS, "identity_from": 12}, **TEXT).fit(DATA)
    assert model.network is not None
    assert model.network.items.weight is not None
    silent = (model.network.items.weight == 0).all(1).numpy()
    assert 0 < silent.sum() < 24
    assert silent.tolist() == (DATA.train_counts() < 12).tolist()
