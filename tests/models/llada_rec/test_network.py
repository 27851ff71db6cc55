"""The mask predictor: who sees whom, positions that a longer history does not shift, and outputs that are codes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sidrec.core.errors import InputError
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.llada_rec.network import MaskPredictor, masked_order, one_pass_mask, target_mask


def network(**values: object) -> MaskPredictor:
    torch.manual_seed(0)
    base = {"d_model": 8, "n_heads": 2, "n_layers": 2, "max_history": 4}
    module = MaskPredictor((4, 4), LLaDARecSettings.model_validate(base | values)).eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module


def picture(mask: Tensor) -> list[str]:
    return ["".join("X" if seen else "." for seen in row) for row in mask.tolist()]


def test_one_pass_picture() -> None:
    """Two clean items, then their two targets, one code each: a target sees the clean items before it and itself."""
    assert picture(one_pass_mask(2, 1)) == [
        "X...",
        "XX..",
        "X.X.",
        "XX.X",
    ]


def test_target_picture() -> None:
    assert picture(target_mask(3)) == ["X..", "XX.", "XXX"]


@pytest.mark.parametrize("pattern", ["prefix", "inter-item-causal", "causal"])
@torch.no_grad()
def test_a_fixed_history_never_sees_the_target(pattern: str) -> None:
    module = network(attention=pattern)
    tokens = torch.tensor([[[3, 7], [4, 8], [5, 9]]])
    other = tokens.clone()
    other[:, -1] = torch.tensor([6, 10])
    assert module.history_is_fixed
    assert torch.equal(module.hidden(tokens)[:, :2], module.hidden(other)[:, :2])


@torch.no_grad()
def test_the_bidirectional_history_sees_the_target() -> None:
    module = network()
    tokens = torch.tensor([[[3, 7], [4, 8], [5, 9]]])
    other = tokens.clone()
    other[:, -1] = torch.tensor([6, 10])
    assert not module.history_is_fixed
    assert not torch.allclose(module.hidden(tokens)[:, :2], module.hidden(other)[:, :2])


@torch.no_grad()
def test_positions_from_the_newest_are_not_shifted_by_older_items() -> None:
    """Hide the older item from everybody: the rest must look as if it had never been there."""
    module = network()
    short = torch.tensor([[[4, 8], [5, 9]]])
    long = torch.tensor([[[3, 7], [4, 8], [5, 9]]])
    visible = torch.tensor([[False, True, True]])
    assert torch.allclose(module.hidden(long, visible)[:, 1:], module.hidden(short), atol=1e-6)


def test_a_history_longer_than_the_positions_is_refused() -> None:
    with pytest.raises(InputError, match="longer than the 4 positions"):
        network().hidden(torch.full((1, 6, 2), 3))


def test_temperature_sharpens() -> None:
    hidden = torch.randn(3, 2, 8)
    cold, warm = network(logit_temperature=0.3), network(logit_temperature=1.0)
    assert torch.allclose((warm.log_probs(hidden) / 0.3).log_softmax(-1), cold.log_probs(hidden), atol=1e-5)


def test_masked_order_is_slot_by_slot() -> None:
    values = torch.tensor([[1, 2], [3, 4]])
    assert masked_order(values, torch.tensor([[True, True], [True, False]])).tolist() == [1, 3, 2]
