"""Gaussian diffusion of vectors: the noising process, its posterior, and the way back in few steps.

q(x_t | x_0) = N(sqrt(abar_t) x_0, (1 - abar_t) I) with abar_t = prod_{s<=t} (1 - beta_s); step 0 is the clean vector.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

Schedule = Literal["linear", "cosine", "truncated-linear", "sqrt"]
MOST_STEPS = 100_000


def noise_levels(schedule: Schedule, n_steps: int) -> Tensor:
    """beta_1..beta_T in double precision."""
    if schedule == "linear":  # the usual 1e-4..0.02 of 1,000 steps, scaled so that any number of steps ends in noise
        return torch.linspace(0.1 / n_steps, 20 / n_steps, n_steps, dtype=torch.float64).clamp_max(0.999)
    if schedule == "truncated-linear":  # starts with visible noise: short chains waste no step on nothing
        return torch.linspace(0.1 / n_steps + 0.01, 20 / n_steps + 0.01, n_steps, dtype=torch.float64).clamp_max(0.999)
    time = torch.linspace(0, 1, n_steps + 1, dtype=torch.float64)
    if schedule == "cosine":
        kept = torch.cos((time + 0.008) / 1.008 * math.pi / 2) ** 2
    else:
        kept = 1 - torch.sqrt(time + 0.0001)
    return (1 - kept[1:] / kept[:-1]).clamp(1e-6, 0.999)


class GaussianDiffusion(nn.Module):
    """A fixed chain of `n_steps`; steps are counted 1..n_steps, 0 is clean."""

    kept: Tensor

    def __init__(self, n_steps: int, schedule: Schedule) -> None:
        super().__init__()
        self.n_steps = n_steps
        kept = torch.cumprod(1 - noise_levels(schedule, n_steps), dim=0)
        self.register_buffer("kept", torch.cat([torch.ones(1), kept.float()]), persistent=False)  # abar_0..abar_T

    def noised(self, clean: Tensor, step: Tensor, noise: Tensor) -> Tensor:
        """A draw of q(x_t | x_0); `step` has the shape of `clean` without its last dimension."""
        kept = self.kept[step].unsqueeze(-1)
        return kept.sqrt() * clean + (1 - kept).sqrt() * noise

    def backwards(self, n_steps: int) -> list[tuple[int, int]]:
        """`n_steps` jumps (from, to) that lead from pure noise to clean, evenly spread over the chain."""
        places = torch.linspace(self.n_steps, 0, min(n_steps, self.n_steps) + 1).round().long().tolist()
        return list(pairwise(places))

    def posterior(self, noisy: Tensor, clean: Tensor, jump: tuple[int, int], eta: float = 1.0) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of x_to given x_from and x_0, for a jump of any width.

        eta 1 is q(x_to | x_from, x_0) itself, eta 0 the deterministic path with the same marginals (DDIM).
        """
        now, then = self.kept[jump[0]], self.kept[jump[1]]
        deviation = eta * ((1 - then) / (1 - now) * (1 - now / then)).clamp_min(0).sqrt()
        noise = (noisy - now.sqrt() * clean) / (1 - now).sqrt()
        mean = then.sqrt() * clean + (1 - then - deviation**2).clamp_min(0).sqrt() * noise
        return mean, deviation


def guided(conditional: Tensor, unconditional: Tensor, strength: float) -> Tensor:
    """Classifier-free guidance: away from what would be said without the condition; strength 0 changes nothing."""
    return conditional if strength == 0 else (1 + strength) * conditional - strength * unconditional


def step_features(step: Tensor, width: int) -> Tensor:
    """Sinusoidal features (…, width) of step numbers."""
    half = width // 2
    frequencies = torch.exp(-math.log(10_000) * torch.arange(half, device=step.device) / half)
    angles = step.unsqueeze(-1) * frequencies
    features = torch.cat([angles.cos(), angles.sin()], dim=-1)
    return nn.functional.pad(features, (0, width - 2 * half))
