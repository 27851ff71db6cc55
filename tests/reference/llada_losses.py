"""LLaDA-Rec's losses written out literally: one user at a time, two forward passes, all logits, Python sums."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from sidrec.models.llada_rec.network import MaskPredictor


def log_probs(network: MaskPredictor, codes: Tensor, masked: Tensor, *, with_target: bool = True) -> Tensor:
    """(items, M, K) of one user's items, given as codes (items, M), hidden where masked."""
    x = network.embed_sequence(torch.where(masked, -1, codes)[None], None, with_target=with_target)
    hidden = network.transformer(x, network.mask_for(len(codes) - with_target, None, with_target=with_target))
    return network.log_probs(hidden.view(*codes.shape, -1))


def next_item_loss(network: MaskPredictor, history: Tensor, target: Tensor, masked: Tensor, weight: Tensor) -> Tensor:
    """Eq. loss_item_mask for one user: history (items, M), target (M,)."""
    every = torch.cat([history, target[None]])
    hidden_part = torch.cat([torch.zeros_like(history, dtype=torch.bool), masked[None]])
    found = log_probs(network, every, hidden_part)[-1]  # (M, K)
    total = torch.zeros(())
    for slot in range(len(target)):
        if masked[slot]:
            total = total - weight[slot] * found[slot, target[slot]]
    return total


def history_loss(network: MaskPredictor, items: Tensor, masked: Tensor, weight: Tensor, *, with_target: bool) -> Tensor:
    """Eq. loss_his_mask for one user over all given items (the target among them in the authors' form)."""
    found = log_probs(network, items, masked, with_target=with_target)
    total = torch.zeros(())
    for item, slot in itertools.product(range(items.shape[0]), range(items.shape[1])):
        if masked[item, slot]:
            total = total - weight[item, slot] * found[item, slot, items[item, slot]]
    return total


Predictor = Callable[[tuple[int | None, ...]], list[list[float]]]
"""From a partly filled ID (None = masked) to P(code) for every slot."""


def expected_next_item_loss(predict: Predictor, target: tuple[int, ...]) -> float:
    """The expectation of Eq. loss_item_mask over r and the mask, in closed form.

    A mask of n of M tokens has weight (integral of r^(n-1) (1-r)^(M-n)) = (n-1)! (M-n)! / M!.
    """
    n_codes = len(target)
    total = 0.0
    for hidden in itertools.product([False, True], repeat=n_codes):
        n = sum(hidden)
        if n == 0:
            continue
        probs = predict(tuple(None if h else code for h, code in zip(hidden, target, strict=True)))
        weight = math.factorial(n - 1) * math.factorial(n_codes - n) / math.factorial(n_codes)
        total -= weight * sum(math.log(probs[slot][target[slot]]) for slot in range(n_codes) if hidden[slot])
    return total


def log_probability_over_orders(predict: Predictor, target: tuple[int, ...]) -> float:
    """log P(target): one token per step, the mixture over all generation orders, each equally likely."""
    n_codes = len(target)
    total = 0.0
    orders = list(itertools.permutations(range(n_codes)))
    for order in orders:
        filled: list[int | None] = [None] * n_codes
        chance = 1.0
        for slot in order:
            chance *= predict(tuple(filled))[slot][target[slot]]
            filled[slot] = target[slot]
        total += chance / len(orders)
    return math.log(total)
