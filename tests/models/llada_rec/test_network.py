"""The mask predictor: who sees whom, positions that a longer history does not shift, and outputs that are codes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sidrec.core.errors import InputError
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.llada_rec.network import MaskPredictor, masked_order
from sidrec.models.llada_rec.packs import Passes, Places
from sidrec.sids.semantic_ids import SemanticIds

IDS = SemanticIds(np.array([[0, 0], [1, 1], [2, 2], [3, 3]], dtype=np.int32), (4, 4), list("abcd"))


def network(**values: object) -> MaskPredictor:
    torch.manual_seed(0)
    base = {"d_model": 8, "n_heads": 2, "n_layers": 2, "max_history": 4}
    module = MaskPredictor(IDS, LLaDARecSettings.model_validate(base | values)).eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module


@pytest.mark.parametrize("pattern", ["prefix", "inter-item-causal", "causal"])
@torch.no_grad()
def test_a_fixed_history_never_sees_the_target(pattern: str) -> None:
    module = network(attention=pattern)
    items, other = torch.tensor([[0, 1, 2]]), torch.tensor([[0, 1, 3]])
    assert module.history_is_fixed
    assert torch.equal(module.hidden(items)[:, :2], module.hidden(other)[:, :2])


@torch.no_grad()
def test_the_bidirectional_history_sees_the_target() -> None:
    module = network()
    items, other = torch.tensor([[0, 1, 2]]), torch.tensor([[0, 1, 3]])
    assert not module.history_is_fixed
    assert not torch.allclose(module.hidden(items)[:, :2], module.hidden(other)[:, :2])


@torch.no_grad()
def test_positions_from_the_newest_are_not_shifted_by_older_items() -> None:
    """Hide the older item from everybody: the rest must look as if it had never been there."""
    module = network()
    short, long = torch.tensor([[1, 2]]), torch.tensor([[0, 1, 2]])
    visible = torch.tensor([[False, True, True]])
    assert torch.allclose(module.hidden(long, visible=visible)[:, 1:], module.hidden(short), atol=1e-6)


def test_a_history_longer_than_the_positions_is_refused() -> None:
    with pytest.raises(InputError, match="longer than the 4 positions"):
        network().hidden(torch.zeros(1, 6, dtype=torch.long))


def test_temperature_sharpens() -> None:
    hidden = torch.randn(3, 2, 8)
    cold, warm = network(logit_temperature=0.3), network(logit_temperature=1.0)
    assert torch.allclose((warm.log_probs(hidden) / 0.3).log_softmax(-1), cold.log_probs(hidden), atol=1e-5)


def test_masked_order_is_slot_by_slot() -> None:
    values = torch.tensor([[1, 2], [3, 4]])
    assert masked_order(values, torch.tensor([[True, True], [True, False]])).tolist() == [1, 3, 2]


@torch.no_grad()
def test_hidden_codes_are_not_seen() -> None:
    """Item 1 with its second code hidden looks like any other item with the same first code and a hidden second."""
    codes = np.array([[0, 0], [1, 1], [1, 3]], dtype=np.int32)
    module = network().with_items(SemanticIds(codes, (4, 4), list("abc")))
    masked = torch.tensor([[[False, False], [False, True]]])
    one, other = (module.hidden(torch.tensor([[0, item]]), masked) for item in (1, 2))
    assert torch.equal(one, other)
    assert not torch.allclose(one, module.hidden(torch.tensor([[0, 1]])))


@torch.no_grad()
def test_a_changed_catalogue_shares_the_weights_and_leaves_the_old_network_alone() -> None:
    module = network()
    grown = module.with_items(IDS.with_items(np.array([[3, 0]], dtype=np.int32), ["e"]))
    assert list(grown.state_dict()) == list(module.state_dict())
    assert all(one is other for one, other in zip(grown.parameters(), module.parameters(), strict=True))
    old, new = torch.tensor([[0, 1, 2]]), torch.tensor([[4]])
    assert torch.equal(grown.hidden(old), module.hidden(old))
    assert grown.item_tokens.codes_of(new).tolist() == [[[3, 0]]]
    assert len(module.item_tokens.codes) == 5, "four items and the padding"


def test_the_table_of_codes_is_not_among_the_weights() -> None:
    assert not [name for name in network().state_dict() if "item_tokens" in name]


@torch.no_grad()
def test_one_pass_equals_every_target_alone() -> None:
    module = network(attention="inter-item-causal", positions="absolute")
    items = torch.tensor([[2, 0, 3, 1]])
    codes = module.item_tokens.codes_of(items[:, 1:]).masked_fill(torch.tensor([True, False]), -1)
    passes = Passes(*(np.array([n]) for n in (0, 0, 3, 6)), np.array([True]), twice=True)
    every = torch.cat([module.item_tokens.codes_of(items[0, :-1]), codes[0]])
    together = module.packed_hidden(every, every < 0, Places.of(passes))  # the hidden code of each target
    for number in range(3):
        alone = module.target_hidden(items[:, : number + 1], codes[:, number])
        assert torch.allclose(together[number], alone[0, 0], atol=1e-5)
