"""Codes from items: where every item has a probability, those of codes are sums of them, whatever is filled."""

from __future__ import annotations

import torch
from torch import Tensor

from sidrec.decoding.beam import pick
from sidrec.decoding.diffusion import Predict

_CELLS = 20_000_000


def code_marginals(log_probs: Tensor, codes: Tensor, codebook_size: int) -> Predict:
    """One user's item log-probabilities (n_items,), -inf where not allowed, as the function that a search asks.

    P(code in a slot | filled slots) = the share of the items with that code among those that agree with what is filled,
    so the product over a search's steps is exactly the probability of the items that are left.
    """
    weights = (log_probs.double() - log_probs.max()).exp()  # (n_items,)

    def predict(beams: Tensor, slots: Tensor) -> Tensor:
        flat = beams.reshape(-1, beams.shape[-1])
        step = max(1, _CELLS // max(1, len(weights)))
        found = [_of_beams(flat[at : at + step], weights, codes, codebook_size) for at in range(0, len(flat), step)]
        return pick(torch.cat(found).view(*beams.shape, codebook_size), slots)

    return predict


def _of_beams(beams: Tensor, weights: Tensor, codes: Tensor, codebook_size: int) -> Tensor:
    """(beams, M) to log-probabilities (beams, M, K)."""
    agree = torch.ones(len(beams), len(weights), dtype=torch.bool)
    for slot in range(codes.shape[1]):
        agree &= (beams[:, slot, None] < 0) | (beams[:, slot, None] == codes[:, slot])
    mass = agree * weights  # (beams, n_items)
    totals = torch.zeros(len(beams), codes.shape[1], codebook_size, dtype=weights.dtype)
    for slot in range(codes.shape[1]):
        totals[:, slot].index_add_(1, codes[:, slot], mass)
    return (totals / mass.sum(1)[:, None, None]).log().float()
