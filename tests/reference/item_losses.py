"""Losses over a catalogue, one place and one item at a time."""

from __future__ import annotations

import torch
from torch import Tensor


def bce_by_hand(hidden: Tensor, table: Tensor, targets: Tensor, negatives: Tensor) -> Tensor:
    total = torch.zeros((), dtype=hidden.dtype)
    for place in range(len(hidden)):
        yes, no = hidden[place] @ table[targets[place]], hidden[place] @ table[negatives[place]]
        total = total - torch.log(torch.sigmoid(yes)) - torch.log(1 - torch.sigmoid(no))
    return total


def bpr_max_by_hand(hidden: Tensor, table: Tensor, targets: Tensor, negatives: Tensor, regularization: float) -> Tensor:
    total = torch.zeros((), dtype=hidden.dtype)
    for place in range(len(hidden)):
        others = [int(item) for item in negatives if item != targets[place]]
        scores = torch.stack([hidden[place] @ table[item] for item in others])
        weights = scores.softmax(0)
        wins = torch.sigmoid(hidden[place] @ table[targets[place]] - scores)
        total = total - torch.log((weights * wins).sum()) + regularization * (weights * scores**2).sum()
    return total
