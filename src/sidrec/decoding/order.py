"""Which slots a beam fills next."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Order = Literal["adaptive", "left-to-right", "right-to-left"]
Confidence = Literal["valid", "all"]


def masked_slots(codes: Tensor, n_masked: int | None = None) -> Tensor:
    """The masked slots of every beam, ascending: (users, beams, n_masked); all beams have the same number of them.

    Whoever does not say how many has to look.
    """
    n_masked = int((codes.flatten(0, -2)[:1] < 0).sum()) if n_masked is None else n_masked
    return (codes >= 0).byte().argsort(dim=-1, stable=True)[..., :n_masked]


def candidates(order: Order, masked: Tensor, count: int) -> Tensor:
    """The slots whose predictions decide: all masked ones, or the next `count` of a fixed order."""
    if order == "adaptive":
        return masked
    return masked[..., :count] if order == "left-to-right" else masked.flip(-1)[..., :count]


def choose(order: Order, confidence: Tensor, count: int) -> Tensor:
    """Columns (users, beams, count) of the candidates; adaptive takes the surest first, ties the lower slot.

    Confidence (users, beams, candidates) is the highest log-probability of a code, by the plan one that may be
    taken or any.
    """
    if order == "adaptive":
        return confidence.sort(dim=-1, descending=True, stable=True).indices[..., :count]
    return torch.arange(count, device=confidence.device).expand(*confidence.shape[:-1], count)
