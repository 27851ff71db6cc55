"""Names and settings may stay while what they lead to changes: content counts."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from reference.small_plan import SETTINGS, TOKENIZER, small_plan, small_shop
from sidrec.core.artifacts import open_artifact
from sidrec.core.errors import InputError
from sidrec.core.replacing import replacing
from sidrec.data.dataset import Dataset
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.models.content import content_of, named_content
from sidrec.models.registry import find_model, load_model
from sidrec.pipeline.benchmark.runner import benchmark
from sidrec.pipeline.recipes import Recipe
from sidrec.pipeline.train import train

SMALL = {"d_model": 8, "n_layers": 1, "n_heads": 2, "tokenize": TOKENIZER, "training": {"epochs": 1, "batch_size": 32}}


@pytest.fixture
def shop(tmp_path) -> Path:
    return small_shop(tmp_path)


def write_vectors(file: Path, seed: int) -> None:
    np.save(file, np.random.default_rng(seed).normal(size=(20, 6)).astype(np.float32))


@pytest.mark.slow
def test_other_vectors_under_the_same_name_are_trained_again(shop, tmp_path):
    vectors, out = tmp_path / "v.npy", tmp_path / "model"
    recipe = Recipe("llada-rec", {**SMALL, "embedding": {"vectors": str(vectors)}}, "here")
    codes = []
    for seed, skipped in ((1, False), (1, True), (2, False)):
        write_vectors(vectors, seed)
        with replacing():
            done = train(shop, out, recipe)
        codes.append(done.model.semantic_ids.codes.tolist())
        assert done.skipped == skipped
    assert codes[0] == codes[1] != codes[2]
    vectors.unlink()
    model = load_model(out)  # what a trained model came from need not be there any more
    model.remove_items(model.catalog.item_ids.to_list()[:1])
    model.save(tmp_path / "later")
    made_from = open_artifact(tmp_path / "later").made_from
    assert made_from["embedding.vectors"] == open_artifact(out).made_from["embedding.vectors"]


@pytest.mark.slow
def test_a_benchmark_notices_other_vectors_too(shop, tmp_path):
    vectors = tmp_path / "v.npy"
    rows = [{"label": "mine", "set": {"tokenize": TOKENIZER, "embedding": {"vectors": str(vectors)}}}]
    section = {"name": "s", "title": "S", "variants": rows}
    plan = small_plan(shop, section=[section], settings={**SETTINGS, "embedding": {}}, scale="paper")
    for seed, status in ((1, "done"), (1, "skipped"), (2, "done")):
        write_vectors(vectors, seed)
        result = benchmark(plan, tmp_path / "out")
        assert [record.status for record in result.records] == [status], result.records


@pytest.mark.slow
def test_every_file_of_a_local_encoder_and_of_a_saved_model_counts(shop, tmp_path):
    encoder = tmp_path / "encoder"
    encoder.mkdir()
    (encoder / "config.json").write_text("{}")
    (encoder / "vocab.txt").write_text("a b")
    found = [named_content(EmbeddingSettings(encoder=str(encoder)))]
    (encoder / "vocab.txt").write_text("b a")
    found.append(named_content(EmbeddingSettings(encoder=str(encoder))))
    assert found[0].keys() == found[1].keys() == {"embedding.encoder"} and found[0] != found[1]
    for seed in (0, 1):
        values = {"d_model": 8, "training": {"epochs": 1, "batch_size": 32, "seed": seed}}
        with replacing():
            train(shop, tmp_path / "sas", Recipe("sasrec-ce", values, "here"))
        found.append(named_content(EmbeddingSettings(from_model=str(tmp_path / "sas"))))
    assert found[2].keys() == found[3].keys() == {"embedding.from_model"} and found[2] != found[3]
    assert named_content(EmbeddingSettings()) == named_content(EmbeddingSettings(from_model="sasrec-ce")) == {}
    with pytest.raises(InputError, match=r"v\.npy: no such file"):
        named_content(EmbeddingSettings(vectors=tmp_path / "v.npy"))


@pytest.mark.slow
def test_the_content_of_a_model_is_all_that_decides_its_answers(shop, tmp_path):
    embedding = {"encoder": "tfidf"}
    find_model("llada-rec").make(**SMALL, embedding=embedding).fit(Dataset.load(shop), out=tmp_path / "model")
    shutil.copytree(tmp_path / "model", tmp_path / "moved")
    first, moved = (content_of(load_model(tmp_path / name)) for name in ("model", "moved"))
    assert first == moved
    others = [load_model(tmp_path / "model") for _ in range(3)]
    with torch.no_grad():
        next(others[0].network.parameters()).add_(1e-3)
    others[1].remove_items(others[1].catalog.item_ids.to_list()[:1])
    others[2] = others[2].with_search({"beam_size": 11})
    assert len({first, *map(content_of, others)}) == 4
