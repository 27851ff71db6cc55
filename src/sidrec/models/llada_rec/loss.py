"""The paper's three training equations, one small function each."""

from __future__ import annotations

from torch import Tensor


def masked_loss(token_losses: Tensor, weight: Tensor) -> Tensor:
    """Eq. loss_item_mask and Eq. loss_his_mask for given noise: masked tokens' -log P, each times 1/r, summed.

    Both inputs hold masked tokens only, so nothing masked is an empty sum: exactly 0.
    """
    return (token_losses * weight).sum()


def total_loss(next_item: Tensor, history: Tensor, history_mask_weight: float) -> Tensor:
    """Eq. loss_total; its L2 term is AdamW's weight decay."""
    return next_item + history_mask_weight * history
