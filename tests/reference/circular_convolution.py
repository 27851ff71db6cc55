"""A circular convolution as its definition says it."""

from __future__ import annotations

import torch
from torch import Tensor


def circular_convolution(inputs: Tensor, kernel: Tensor) -> Tensor:
    """out[t] = sum_s kernel[s] * inputs[t - s], indices modulo the length; (batch, length, width)."""
    length = inputs.shape[1]
    out = torch.zeros_like(inputs)
    for t in range(length):
        for s in range(length):
            out[:, t] += kernel[s] * inputs[:, (t - s) % length]
    return out
