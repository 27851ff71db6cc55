"""A complex diagonal linear recurrence: one state, two ways to compute it.

h_t = lambda * h_{t-1} + gamma * B x_t,   y_t = Re(C h_t),   |lambda| < 1 by construction.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def scan(decay: Tensor, inputs: Tensor) -> Tensor:
    """h_t = decay * h_{t-1} + inputs_t for all t at once, from h_{-1} = 0.

    Doubling: after round r each place holds the sum over its 2^r newest inputs, so a sequence of n takes log2(n)
    rounds of whole-array products instead of n dependent steps. `decay` (width), `inputs` (batch, length, width).
    """
    states, reach = inputs, 1
    while reach < inputs.shape[1]:
        earlier = decay * states[:, :-reach]
        states = torch.cat([states[:, :reach], states[:, reach:] + earlier], dim=1)
        decay, reach = decay * decay, 2 * reach
    return states


class LinearRecurrence(nn.Module):
    """A linear recurrent unit; `forward` scans a whole sequence, `step` moves one item on, with equal results."""

    def __init__(self, d_model: int, width: int, min_modulus: float = 0.8, max_modulus: float = 0.99) -> None:
        super().__init__()
        # lambda = exp(-exp(nu) + i exp(theta)): the modulus exp(-exp(nu)) is below 1 whatever the optimiser does.
        uniform = torch.rand(width)
        modulus_squared = uniform * (max_modulus**2 - min_modulus**2) + min_modulus**2
        self.nu = nn.Parameter(torch.log(-0.5 * torch.log(modulus_squared)))
        self.theta = nn.Parameter(torch.log(2 * math.pi * torch.rand(width).clamp_min(1e-4)))
        # gamma starts at sqrt(1 - |lambda|^2), which gives every state the variance of its input.
        self.gamma = nn.Parameter(0.5 * torch.log1p(-modulus_squared))
        self.inwards = nn.Linear(d_model, 2 * width)
        self.outwards = nn.Linear(2 * width, d_model)

    def decay(self) -> Tensor:
        """lambda, one complex number per state dimension."""
        return torch.polar(torch.exp(-torch.exp(self.nu)), torch.exp(self.theta))

    def forward(self, inputs: Tensor) -> Tensor:
        """(batch, length, d_model) to the same; place t sees places up to t."""
        return self._read(self.states(inputs))

    def states(self, inputs: Tensor) -> Tensor:
        """The states after each place, (batch, length, width)."""
        return scan(self.decay(), self._enter(inputs))

    def start(self, rows: int) -> Tensor:
        """The state before the first item."""
        return torch.zeros(rows, len(self.nu), dtype=torch.complex64, device=self.nu.device)

    def step(self, state: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """One item (.., d_model) further: the new state and the output."""
        state = self.decay() * state + self._enter(inputs)
        return state, self._read(state)

    def _enter(self, inputs: Tensor) -> Tensor:
        real, imaginary = self.inwards(inputs).float().chunk(2, dim=-1)  # complex numbers come in 32 bits only
        return torch.complex(real, imaginary) * torch.exp(self.gamma)

    def _read(self, states: Tensor) -> Tensor:
        """Re(C h) of a complex C is a real map of both parts."""
        out: Tensor = self.outwards(torch.cat([states.real, states.imag], dim=-1))
        return out


class LRUBlock(nn.Module):
    """Recurrence, then feed-forward, each with residual and LayerNorm."""

    def __init__(
        self, width: int, dropout: float, state_factor: int = 2, moduli: tuple[float, float] = (0.8, 0.99)
    ) -> None:
        super().__init__()
        self.recurrence = LinearRecurrence(width, state_factor * width, *moduli)
        self.dropout = nn.Dropout(dropout)
        self.after_recurrence, self.after_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(dropout), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self._rest(x, self.recurrence(x))

    def step(self, state: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """One item (.., d_model) further: the new state and the output."""
        state, mixed = self.recurrence.step(state, x)
        return state, self._rest(x, mixed)

    def _rest(self, x: Tensor, mixed: Tensor) -> Tensor:
        x = self.after_recurrence(x + self.dropout(mixed))
        out: Tensor = self.after_mlp(x + self.dropout(self.mlp(x)))
        return out
