"""A linear recurrence, one step after another."""

from __future__ import annotations

import torch
from torch import Tensor


def step_by_step(decay: Tensor, inputs: Tensor) -> Tensor:
    """h_t = decay * h_{t-1} + inputs_t over (batch, length, width)."""
    state, states = torch.zeros_like(inputs[:, 0]), []
    for t in range(inputs.shape[1]):
        state = decay * state + inputs[:, t]
        states.append(state)
    return torch.stack(states, dim=1)
