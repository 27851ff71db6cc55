from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from safetensors import safe_open

from reference.id_speaker import write_base
from reference.learning import cycle_recall
from sidrec.core.artifacts import open_artifact
from sidrec.core.errors import ArtifactError, InputError
from sidrec.data.synthetic import clusters
from sidrec.models.lcrec.recommender import LCRec
from sidrec.models.registry import load_model

QUICK: dict[str, Any] = {
    "d_model": 32,
    "n_layers": 1,
    "n_heads": 2,
    "d_ff": 64,
    "n_words": 300,
    "dropout": 0.0,
    "max_history": 8,
    "beam_size": 10,
    "embedding": {"encoder": "tfidf"},
    "tokenize": {"tokenizer": "rq-kmeans", "options": {"n_codes": 2, "codebook_size": 8, "pca": 8}},
    "training": {"epochs": 12, "batch_size": 64, "learning_rate": 0.01, "validate_every": 12},
}
DATA = clusters(n_clusters=4, cluster_size=8, n_users=60, length=6)
HISTORIES = [["thing-1", "thing-2"], ["thing-9"]]


@pytest.mark.slow
def test_the_cycle_is_learned():
    assert cycle_recall(LCRec(**QUICK)) > 0.9


@pytest.mark.slow
def test_a_named_language_model_is_tuned_by_an_adapter_and_not_copied(tmp_path):
    base = write_base(tmp_path / "llama", DATA.catalog.titles, width=256)  # more weights than adapter and codes
    values = {**QUICK, "training": {**QUICK["training"], "epochs": 1, "validate_every": 1}}
    model = LCRec(**values, base=base, lora={"rank": 2}).fit(DATA, out=tmp_path / "model")
    answer = model.recommend(HISTORIES, k=5)
    assert all(len(set(ids)) == 5 for ids in answer.item_ids)
    with safe_open(tmp_path / "model" / "weights.safetensors", "pt") as stored:
        names = set(stored.keys())
    assert names and all("lora_" in name or name == "codes.weight" for name in names)
    artifact = open_artifact(tmp_path / "model", "model")
    assert len(artifact.made_from["base"]) == 64
    assert artifact.settings["settings"]["base"] == str(base)
    loaded = load_model(tmp_path / "model")
    assert loaded.recommend(HISTORIES, k=5) == answer
    learned = loaded.network.state_dict()["lm.model.layers.0.self_attn.q_proj.lora_B.default.weight"]  # type: ignore[attr-defined]
    assert learned.abs().sum() > 0  # it begins at zero
    other = write_base(tmp_path / "other", DATA.catalog.titles, width=32)
    (other / "model.safetensors").replace(base / "model.safetensors")
    with pytest.raises(ArtifactError, match="tuned on another language model than lies at"):
        load_model(tmp_path / "model")
    base.rename(tmp_path / "away")
    with pytest.raises(ArtifactError, match="which is not there"):
        load_model(tmp_path / "model")


@pytest.mark.slow
def test_new_items_are_spoken_of_at_once(tmp_path):
    model = LCRec(**QUICK).fit(DATA)
    like = DATA.catalog.frame.filter(pl.col("item_id") == "thing-3")
    assert model.add_items(like.with_columns(pl.lit("new").alias("item_id"))) == ["new"]
    after = model.recommend([["thing-1", "thing-2"]], k=33)
    assert "new" in after.item_ids[0]
    loaded = load_model(model.save(tmp_path / "model"))
    assert loaded.recommend([["new"], ["thing-9"]], k=33) == model.recommend([["new"], ["thing-9"]], k=33)
    steps = model.explain(["thing-1", "thing-2"], k=3)
    assert len(steps.trace.steps) == 2


def test_a_directory_that_is_none_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(InputError, match="no such directory; base is one with"):
        LCRec(**QUICK, base=tmp_path / "nothing").fit(DATA)
    with pytest.raises(InputError, match=r"has no tokenizer\.json"):
        LCRec(**QUICK, base=tmp_path).fit(DATA)
