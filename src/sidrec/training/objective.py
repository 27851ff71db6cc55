"""What a model hands to THE training loop, and what the loop hands back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


@dataclass(frozen=True)
class Batch:
    """One optimiser step's samples.

    `rows` are the sample numbers of the whole step, over all processes; `mine` is this process's share of them. Noise
    is drawn for all `rows` from `generator` and then cut to `mine`, and losses are divided by `len(rows)`, so that
    any number of processes gives the gradient of one process on the joined batch.
    """

    rows: NDArray[np.int64]
    mine: slice
    generator: torch.Generator
    epoch: int
    step: int


@dataclass(frozen=True)
class Losses:
    """A part of the step's loss: the scalar to back-propagate, and its named terms to show (detached)."""

    total: Tensor
    terms: dict[str, Tensor]


class Objective(Protocol):
    """A training task over `n_samples` numbered samples."""

    n_samples: int

    def parts(self, module: nn.Module, batch: Batch) -> Iterator[Losses]:
        """The step's loss in parts (for example one per length group); they add up to the step's loss.

        Each part is back-propagated before the next one is asked for, so only one part's activations are alive.
        """

    def validate(self, module: nn.Module) -> dict[str, float]:
        """Figures on held-out data; empty where there is nothing to measure. Must not touch the training noise."""

    def after_epoch(self, module: nn.Module, epoch: int, generator: torch.Generator) -> dict[str, float]:
        """What happens between epochs (for example restarting dead codes); figures for the progress line."""
