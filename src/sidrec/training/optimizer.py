"""AdamW and its learning rate as a pure function of the step."""

from __future__ import annotations

import math

import torch
from torch import nn

from sidrec.training.options import TrainingOptions


def adamw(module: nn.Module, options: TrainingOptions) -> torch.optim.AdamW:
    """Fused AdamW; weight decay acts on matrices only.

    Norm gains and biases (one dimension or none) have no scale that decay could usefully bound.
    """
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": options.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    return torch.optim.AdamW(groups, lr=options.learning_rate, betas=options.betas, fused=True)


def learning_rate(options: TrainingOptions, step: int, planned: int) -> float:
    """Rate of the step numbered from 0 out of `planned`: a linear rise from 0, then level or half a cosine to 0."""
    rising = math.ceil(options.warmup * planned)
    if step < rising:
        return options.learning_rate * (step + 1) / rising
    if options.schedule == "constant":
        return options.learning_rate
    share = (step - rising) / max(1, planned - rising)
    return options.learning_rate * 0.5 * (1.0 + math.cos(math.pi * share))
