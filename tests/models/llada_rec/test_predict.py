"""The fast ways of asking the network equal the literal one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from reference.literal_predict import literal_predict
from reference.random_ids import random_ids
from sidrec.decoding.diffusion import search
from sidrec.decoding.order import masked_slots
from sidrec.decoding.plan import SearchPlan
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.llada_rec.network import MaskPredictor
from sidrec.models.llada_rec.predict import make_predict

SIZES = (5, 4, 3)
PATTERNS = ["bidirectional", "prefix", "causal", "inter-item-causal", "intra-item-causal"]


def network(**values: object) -> MaskPredictor:
    torch.manual_seed(0)
    base = {"d_model": 16, "n_heads": 2, "n_layers": 3, "max_history": 6}
    module = MaskPredictor(random_ids(20, SIZES), LLaDARecSettings.model_validate(base | values)).eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return module


def histories(n_users: int, n_items: int) -> Tensor:
    return torch.randint(0, 20, (n_users, n_items))


def beams(n_users: int, n_beams: int) -> Tensor:
    """Two of three slots masked, other ones in every beam."""
    codes = torch.stack([torch.randint(0, size, (n_users, n_beams)) for size in SIZES], -1)
    return codes.masked_fill(torch.rand(codes.shape).argsort(-1) < 2, -1)


@pytest.mark.parametrize("head", ["per-slot", "shared"])
@pytest.mark.parametrize("positions", ["from-newest", "absolute"])
@pytest.mark.parametrize("pattern", PATTERNS)
@torch.no_grad()
def test_every_pattern_is_exact(pattern: str, positions: str, head: str) -> None:
    module = network(attention=pattern, positions=positions, head=head)
    items = histories(3, 4)
    fast, slow = make_predict(module, items), literal_predict(module, items)
    start = torch.full((3, 1, 3), -1)
    for codes in (start, beams(3, 7)):
        masked = masked_slots(codes)
        for slots in (masked, masked[..., :1], masked.flip(-1)):
            assert torch.allclose(fast(codes, slots), slow(codes, slots), atol=1e-5)


@torch.no_grad()
def test_frozen_history_is_exact_in_the_first_step_only() -> None:
    module, items = network(attention="bidirectional"), histories(2, 4)
    frozen, slow = make_predict(module, items, frozen_history=True), literal_predict(module, items)
    start, some = torch.full((2, 1, 3), -1), beams(2, 5)
    every, open_ = masked_slots(start), masked_slots(some)
    assert torch.allclose(frozen(start, every), slow(start, every), atol=1e-5)
    assert not torch.allclose(frozen(some, open_), slow(some, open_), atol=1e-3)


@torch.no_grad()
def test_a_long_beam_is_cut_into_passes_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    module, items, some = network(), histories(2, 4), beams(2, 9)
    slots = masked_slots(some)
    whole = make_predict(module, items)(some, slots)
    monkeypatch.setattr("sidrec.models.llada_rec.predict.ROW_TOKENS", 40)
    assert torch.allclose(make_predict(module, items)(some, slots), whole, atol=1e-6)


@pytest.mark.parametrize("order", ["left-to-right", "adaptive"])
@torch.no_grad()
def test_one_beam_is_not_taken_for_the_first_step(order: str) -> None:
    """Greedy search has one beam in every step; only where nothing is filled yet does the history pass answer."""
    module, items = network(attention="prefix"), histories(2, 3)
    fast, slow = make_predict(module, items), literal_predict(module, items)
    plan = SearchPlan(n_codes=3, n_steps=3, beam_size=1, k=1, order=order)
    found, wanted = search(fast, 2, plan), search(slow, 2, plan)
    assert torch.equal(found.codes, wanted.codes) and torch.allclose(found.scores, wanted.scores, atol=1e-5)
