"""RPG's score, item by item and digit by digit, from a network's weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def slow_scores(network: Any, queries: Tensor, codes: list[list[int]], sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """(users, n_items): the sum over the digits of the log-probability of the item's code."""
    table, width = network.items.code.detach().double(), queries.shape[1]
    weight, bias = network.heads.weight.detach().double(), network.heads.bias.detach().double()
    scores = np.zeros((len(queries), len(codes)))
    for user, query in enumerate(queries.double()):
        for item, digits in enumerate(codes):
            first = 1
            for digit, size in enumerate(sizes):
                rows = slice(digit * width, (digit + 1) * width)
                said = weight[rows] @ query + bias[rows]
                said = query + said * torch.sigmoid(said)
                logits = [float(said @ row / (said.norm() * row.norm())) / 0.07 for row in table[first : first + size]]
                scores[user, item] += logits[digits[digit]] - np.log(np.sum(np.exp(logits)))
                first += size
    return scores
