"""Whoever computes, the search asks the same questions."""

from __future__ import annotations

import sys

import pytest
import torch

from reference.random_ids import random_ids
from sidrec.core.errors import SettingsError
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.llada_rec.engines import HISTORY, STEP, WHOLE, ExportedNetwork, check_engine, open_graph
from sidrec.models.llada_rec.network import MaskPredictor
from sidrec.models.llada_rec.predict import make_predict


def network(attention: str) -> MaskPredictor:
    torch.manual_seed(0)
    values = {"d_model": 8, "n_heads": 2, "n_layers": 2, "max_history": 4, "attention": attention}
    return MaskPredictor(random_ids(6, (5, 4, 3)), LLaDARecSettings.model_validate(values)).eval()


@torch.no_grad()
def test_graphs_take_the_network_s_place() -> None:
    """Functions that compute what the graphs would, in int64, with layers stacked: the same predictions."""
    shared, whole = network("prefix"), network("bidirectional")

    def history(items: torch.Tensor, table: torch.Tensor) -> list[torch.Tensor]:
        assert items.dtype == torch.int64 and table is shared.item_tokens.codes
        kept, first = shared.cache_history(items)
        return [first, torch.stack([layer.keys for layer in kept]), torch.stack([layer.values for layer in kept])]

    def step(codes: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> list[torch.Tensor]:
        return [shared.cached_log_probs(codes, list(map(_pair, keys, values)), keys.shape[-2] // 3)]

    def _pair(keys: torch.Tensor, values: torch.Tensor):
        from sidrec.nn.transformer import KeysValues

        return KeysValues(keys, values)

    items = torch.tensor([[3, 5]])
    codes, slots = torch.tensor([[[4, -1, -1], [-1, 2, -1]]]), torch.tensor([[[2, 1], [0, 2]]])
    start, every = torch.full((1, 1, 3), -1), torch.arange(3).view(1, 1, 3)
    exported = ExportedNetwork(shared, {HISTORY: history, STEP: step})
    for asked in ((codes, slots), (start, every)):
        assert torch.allclose(make_predict(exported, items)(*asked), make_predict(shared, items)(*asked))
    exported = ExportedNetwork(whole, {WHOLE: lambda items, codes, _: [whole.target_log_probs(items, codes)]})
    assert torch.allclose(make_predict(exported, items)(codes, slots), make_predict(whole, items)(codes, slots))
    with pytest.raises(SettingsError, match="frozen_history needs the torch engine"):
        make_predict(exported, items, frozen_history=True)


@pytest.mark.parametrize(("engine", "package"), [("onnx", "onnxruntime"), ("openvino", "openvino")])
def test_a_missing_package_is_one_sentence(engine, package, monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    message = rf"the {engine} engine needs the package {package}; install it with `pip install 'sidrec\[export\]'`"
    with pytest.raises(SettingsError, match=message):
        open_graph(engine, tmp_path / "graph.onnx", tmp_path / "graph.onnx")


def test_an_unknown_engine() -> None:
    check_engine("openvino")
    with pytest.raises(SettingsError, match="'tensorrt' is not an engine; choose one of torch, onnx, openvino"):
        check_engine("tensorrt")
