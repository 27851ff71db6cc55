"""What is kept between steps changes nothing: the library's plain forward pass, and brute force, agree."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from reference.random_ids import random_ids
from reference.t5_by_hand import plain_predict
from sidrec.decoding.diffusion import search
from sidrec.decoding.item_index.index import ItemIndex
from sidrec.decoding.plan import SearchPlan
from sidrec.models.tiger.config import TigerSettings
from sidrec.models.tiger.network import IdWriter
from sidrec.models.tiger.predict import make_predict

SMALL = {"d_model": 16, "n_heads": 2, "d_head": 8, "n_layers": 2, "d_ff": 32, "user_buckets": 7}


def network(sizes: tuple[int, ...], n_items: int = 30) -> IdWriter:
    torch.manual_seed(0)
    module = IdWriter(random_ids(n_items, sizes), TigerSettings.model_validate(SMALL)).eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module


def asked(module: IdWriter, n_users: int = 3, length: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    items = torch.randint(0, 30, (n_users, length))
    return items, torch.from_numpy(module.user_tokens([f"user {number}" for number in range(n_users)]))


@pytest.mark.parametrize("beam_size", [1, 4, 12])
@pytest.mark.parametrize("sizes", [(5, 4, 3, 6), (3,), (4, 4)])
@torch.inference_mode()
def test_kept_keys_and_values_change_nothing(sizes: tuple[int, ...], beam_size: int) -> None:
    module = network(sizes)
    items, users = asked(module)
    index = ItemIndex(module.item_tokens.codes[:-1].numpy(), sizes)
    plan = SearchPlan(len(sizes), k=beam_size, n_steps=len(sizes), beam_size=beam_size, order="left-to-right")
    fast = search(make_predict(module, items, users), 3, plan, index)
    plain = search(plain_predict(module, items, users), 3, plan, index)
    assert torch.equal(fast.codes, plain.codes)
    assert torch.allclose(fast.scores[fast.found], plain.scores[plain.found], atol=1e-5)


@torch.inference_mode()
def test_enough_beams_find_what_brute_force_finds() -> None:
    module = network((3, 3, 3))
    items, users = asked(module)
    every = torch.tensor(list(product(range(3), repeat=3)))
    plan = SearchPlan(3, k=27, n_steps=3, beam_size=27, order="left-to-right")
    result = search(make_predict(module, items, users), 3, plan)
    for row in range(3):
        hidden = module.hidden(items[row].expand(27, -1), users[row].expand(27), every)
        scores = -module.token_losses(hidden, every).sum(1)
        best = scores.argsort(descending=True)
        assert torch.equal(result.codes[row], every[best])
        assert torch.allclose(result.scores[row], scores[best], atol=1e-5)


@torch.inference_mode()
def test_the_history_is_kept_once_per_user() -> None:
    module = network((5, 4, 3))
    items, users = asked(module)
    shapes = []
    keys = module.t5.decoder.block[0].layer[1].EncDecAttention.k
    watch = keys.register_forward_hook(lambda _, given, __: shapes.append(tuple(given[0].shape)))
    plan = SearchPlan(3, k=10, n_steps=3, beam_size=10, order="left-to-right")
    search(make_predict(module, items, users), 3, plan)
    watch.remove()
    assert shapes == [(3, 1 + 4 * 3, 16)]  # made in the first step, for three users, never again
