from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from reference.random_ids import random_ids
from sidrec.models.tiger.config import TigerSettings
from sidrec.models.tiger.network import IdWriter
from sidrec.training.weights import read_weights, write_weights

SMALL = {"d_model": 16, "n_heads": 2, "d_head": 8, "n_layers": 1, "d_ff": 32, "user_buckets": 7}
SIZES = (5, 4, 3)


def network(seed: int = 0, **values: object) -> IdWriter:
    torch.manual_seed(seed)
    return IdWriter(random_ids(12, SIZES), TigerSettings.model_validate({**SMALL, **values})).eval()


def test_a_user_has_the_same_bucket_everywhere() -> None:
    module = network()
    tokens = module.user_tokens(["ann", "bob", "ann", "ünï", ""])
    assert tokens[0] == tokens[2] and ((tokens > module.nobody) & (tokens <= module.nobody + 7)).all()
    assert module.user_tokens(["123456789"]).tolist() == [module.nobody + 1 + 0xCBF43926 % 7]  # CRC-32's check value
    assert len(np.unique(module.user_tokens([str(number) for number in range(100)]))) == 7


@torch.no_grad()
def test_padding_says_nothing() -> None:
    module, codes = network(), torch.tensor([[1, 2, 0]])
    items, users = torch.tensor([[3, 5]]), torch.tensor([module.nobody])
    padded = torch.tensor([[3, 5, -1, -1], [1, 2, 3, 4]])
    alone = module.hidden(items, users, codes)
    together = module.hidden(padded, users.expand(2), codes.expand(2, -1))
    assert torch.allclose(alone[0], together[0], atol=1e-5)
    assert not torch.allclose(alone[0], together[1], atol=1e-2)


@torch.no_grad()
def test_user_and_history_both_count() -> None:
    module, codes = network(), torch.tensor([[1, 2, 0]] * 2)
    items = torch.tensor([[3, 5], [3, 5]])
    users = torch.tensor([module.nobody, module.nobody + 1])
    first, second = module.hidden(items, users, codes)
    assert not torch.allclose(first, second, atol=1e-3)


@torch.no_grad()
def test_a_slot_takes_its_own_codes_only() -> None:
    module = network()
    for slot, size in enumerate(SIZES):
        found = module.log_probs(torch.randn(2, 16), slot)
        assert found.shape == (2, 5)
        assert torch.allclose(found[:, :size].exp().sum(1), torch.ones(2))
        assert torch.isneginf(found[:, size:]).all()


@torch.no_grad()
def test_the_ranking_temperature_sharpens() -> None:
    """Eq. of LETTER's ranking-guided loss: cross-entropy of logits / tau."""
    plain, sharp = network(), network(ranking_temperature=0.5)
    hidden, codes = torch.randn(3, 3, 16), torch.tensor([[1, 2, 0], [0, 0, 0], [4, 3, 2]])
    for slot in range(3):
        assert torch.allclose(sharp.logits(hidden[:, slot], slot), 2 * plain.logits(hidden[:, slot], slot))
    by_hand = [[-sharp.log_probs(hidden[row, slot], slot)[codes[row, slot]] for slot in range(3)] for row in range(3)]
    assert torch.allclose(sharp.token_losses(hidden, codes), torch.tensor(by_hand), atol=1e-6)


def test_tied_weights_come_back_tied(tmp_path) -> None:
    first, second = network(0), network(1)
    write_weights(first, tmp_path / "w.safetensors")
    read_weights(second, tmp_path / "w.safetensors")
    assert torch.equal(second.t5.shared.weight, first.t5.shared.weight)
    for stack in (second.t5.encoder, second.t5.decoder):
        assert stack.embed_tokens.weight is second.t5.shared.weight


@pytest.mark.slow
def test_transformers_is_imported_only_when_a_network_is_built() -> None:
    program = (
        "import sys; import sidrec.models.tiger.recommender as tiger; tiger.TIGER();"
        "from sidrec.models.registry import models; models(); sys.exit('transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
