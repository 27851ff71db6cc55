"""A plain multi-layer perceptron, for auto-encoders and heads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from torch import nn

Activation = Literal["relu", "silu", "gelu"]
_ACTIVATIONS: dict[Activation, type[nn.Module]] = {"relu": nn.ReLU, "silu": nn.SiLU, "gelu": nn.GELU}


def mlp(widths: Sequence[int], activation: Activation = "relu", dropout: float = 0.0) -> nn.Sequential:
    """Linear layers from `widths[0]` to `widths[-1]`, with activation (and dropout) between them, none at the end."""
    layers: list[nn.Module] = []
    for number, (wide_in, wide_out) in enumerate(pairwise(widths)):
        if number:
            layers.append(_ACTIVATIONS[activation]())
            if dropout:
                layers.append(nn.Dropout(dropout))
        layers.append(nn.Linear(wide_in, wide_out))
    return nn.Sequential(*layers)
