"""Exported graphs give the network's own numbers, whatever the number of users, beams and items."""

from __future__ import annotations

import copy
import gc
import signal
import sys
from functools import cache

import polars as pl
import pytest
import torch

from reference.random_ids import random_ids
from sidrec.core.errors import ArtifactError, SettingsError
from sidrec.data.synthetic import clusters
from sidrec.decoding.order import masked_slots
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.llada_rec.engines import ExportedNetwork
from sidrec.models.llada_rec.export import export, load_graphs, weights_of
from sidrec.models.llada_rec.network import MaskPredictor
from sidrec.models.llada_rec.predict import make_predict
from sidrec.models.llada_rec.recommender import LLaDARec

SIZES = (5, 4, 3)
ENGINES = ["onnx", "openvino"]
WAYS = [
    {"attention": "prefix", "n_layers": 2},
    {"attention": "causal", "head": "shared"},
    {"attention": "inter-item-causal", "positions": "absolute", "logit_temperature": 0.7},
    {"attention": "bidirectional", "n_layers": 2},
    {"attention": "intra-item-causal", "positions": "absolute"},
    {"attention": "prefix", "max_history": 1},
    {"attention": "bidirectional", "max_history": 1},
]


def network(seed: int = 0, **values: object) -> MaskPredictor:
    torch.manual_seed(seed)
    base = {"d_model": 16, "n_heads": 2, "n_layers": 1, "max_history": 6}
    module = MaskPredictor(random_ids(20, SIZES), LLaDARecSettings.model_validate(base | values)).eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return module


def some_codes(*shape: int) -> torch.Tensor:
    return torch.stack([torch.randint(0, size, shape) for size in SIZES], -1)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=str)
@torch.inference_mode()
def test_graphs_equal_the_network(way, tmp_path) -> None:
    module = network(**way)
    export(module, tmp_path / "graphs")
    others = [load_graphs(engine, module, tmp_path / "graphs") for engine in ENGINES]
    longest = int(way.get("max_history", 6))
    for n_users, n_items, n_beams in [(1, 1, 1), (1, longest, 9), (3, min(2, longest), 1), (4, longest, 5)]:
        items = torch.randint(0, 20, (n_users, n_items))
        codes = some_codes(n_users, n_beams)
        codes = codes.masked_fill(torch.rand(codes.shape).argsort(-1) < 2, -1)
        for asked in (torch.full((n_users, 1, 3), -1), codes):
            slots = masked_slots(asked)
            wanted = make_predict(module, items)(asked, slots)
            for other in others:
                assert torch.allclose(make_predict(other, items)(asked, slots), wanted, atol=1e-4)


@cache
def model(attention: str) -> LLaDARec:
    ids = {"tokenizer": "rq-kmeans", "options": {"n_codes": 3, "codebook_size": 8, "pca": None}}
    small = {"d_model": 16, "n_heads": 2, "n_layers": 1, "max_history": 4, "embedding": {"encoder": "tfidf"}}
    training = {"epochs": 1, "batch_size": 128, "metric": None}
    return LLaDARec(**small, tokenize=ids, training=training, attention=attention).fit(data())


@cache
def data():
    return clusters(n_clusters=5, cluster_size=8, n_users=80, length=6)


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["prefix", "bidirectional"])
def test_the_same_recommendations_by_every_engine(attention, tmp_path) -> None:
    ids = data().catalog.item_ids.to_list()
    histories = [ids[start : start + 1 + start % 5] for start in range(0, 36, 3)] + [[]]
    wanted = model(attention).recommend(histories, 7, exclude_seen=True)
    for engine in ENGINES:
        other = model(attention).with_engine(engine, tmp_path / "graphs")
        found = other.recommend(histories, 7, exclude_seen=True)
        assert found.item_ids == wanted.item_ids
        for row, right in zip(found.scores, wanted.scores, strict=True):
            assert row == pytest.approx(right, abs=1e-4)
        assert other.engine == engine and model(attention).engine == "torch"
        assert other.with_engine("torch").recommend(histories, 7, exclude_seen=True) == wanted


@pytest.mark.slow
def test_a_signal_is_heard_when_engines_are_gone(tmp_path) -> None:
    """It would be a crash if an engine left freed memory behind for it."""
    for _ in range(2):
        model("prefix").with_engine("openvino", tmp_path / "graphs").recommend([data().catalog.item_ids.to_list()[:2]])
    gc.collect()
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: heard.append(number))
    try:
        signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert heard == [signal.SIGUSR1]


@pytest.mark.slow
def test_new_items_need_no_new_graphs(tmp_path) -> None:
    by_torch, new = copy.copy(model("bidirectional")), data().catalog.frame[:3]
    by_onnx = by_torch.with_engine("onnx", tmp_path / "graphs")
    for changed in (by_torch, by_onnx):
        changed.add_items(new.with_columns(pl.Series("item_id", ["x", "y", "z"])))
    assert isinstance(by_onnx._exported, ExportedNetwork)
    history = [data().catalog.item_ids.to_list()[:3]]
    found, wanted = by_onnx.recommend(history, 43), by_torch.recommend(history, 43)
    assert {"x", "y", "z"} <= set(found.item_ids[0])
    assert found.item_ids == wanted.item_ids and found.scores[0] == pytest.approx(wanted.scores[0], abs=1e-4)


@pytest.mark.slow
def test_graphs_are_an_artefact_of_their_weights(tmp_path) -> None:
    module, said = network(attention="bidirectional"), []

    class Notes:
        def note(self, text: str) -> None:
            said.append(text)

    export(module, tmp_path / "graphs")
    export(module, tmp_path / "graphs", Notes())  # type: ignore[arg-type]
    assert said == [f"{tmp_path / 'graphs'}: already there, nothing to do."]
    other = network(1, attention="bidirectional")
    with pytest.raises(ArtifactError, match="graphs of another model; run `sidrec export`"):
        load_graphs("onnx", other, tmp_path / "graphs")


def test_the_fingerprint_sees_weights_and_structure() -> None:
    same = weights_of(network(attention="prefix"))
    assert weights_of(network(attention="prefix")) == same
    others = [network(1), network(attention="causal"), network(n_heads=4), network(logit_temperature=2.0)]
    assert len({same, *map(weights_of, others)}) == 5


def test_a_missing_exporter_is_one_sentence(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(
        SettingsError, match=r"the export needs the package onnxscript; .*pip install 'sidrec\[export\]'"
    ):
        export(network(), tmp_path / "graphs")
    assert not (tmp_path / "graphs").exists()


def test_missing_graphs_name_the_command(tmp_path) -> None:
    with pytest.raises(ArtifactError, match="make one with `sidrec export`"):
        load_graphs("onnx", network(), tmp_path / "nothing")
