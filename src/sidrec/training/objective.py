"""What a model hands to THE training loop, and what the loop hands back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


@dataclass(frozen=True)
class Batch:
    """One optimiser step's samples.

    `rows` are the sample numbers of the whole step, over all processes; `mine` is this process's share of them. Noise
    is drawn for all `rows` from `generator` and then cut to `mine`, and losses are divided by `len(rows)`, so that
    any number of processes, and of micro-batches, gives the gradient of one process on the joined batch. `epoch` and
    `step` (of the epoch) count from 0; other randomness, like dropout, may come from PyTorch's global generator, which
    is seeded for each step.
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
    """A training task over `n_samples` numbered samples.

    What an objective learns while training must live in the module's parameters and buffers: they are what a
    checkpoint keeps and what processes share.
    """

    n_samples: int

    def parts(self, module: nn.Module, batch: Batch) -> Iterator[Losses]:
        """The step's loss in parts (for example one per length group); they add up to the step's loss.

        Each part is back-propagated before the next one is asked for, so only one part's activations are alive.
        """

    def validate(self, module: nn.Module) -> dict[str, float]:
        """Figures on held-out data; empty where there is nothing to measure. Must not touch the training noise."""

    def after_epoch(self, module: nn.Module, epoch: int, generator: torch.Generator) -> dict[str, float]:
        """What happens between two epochs (for example restarting dead codes), not after the last; its figures.

        Runs without gradients, in every process, after validation; the leading process's weights are then shared.
        """


@dataclass(frozen=True)
class TrainingResult:
    """How training went; epochs count from 1.

    A history entry holds `epoch`, `steps`, `loss`, `loss/<term>`, `gradient_norm`, `learning_rate`, `seconds`,
    `samples_per_second`, and where measured `validation/<figure>` and `between/<figure>`.
    """

    history: list[dict[str, float]]
    best_epoch: int | None
    best_value: float | None
    seconds: float
    cpu_seconds: float
    """Of the leading process, over all its threads."""
    stopped_early: bool
    epochs: int
    gone_on_from: tuple[int, ...] = ()
    """Epochs after which more were planned than before; empty for a training in one piece."""

    def summary(self) -> dict[str, Any]:
        """Everything but the history."""
        went_on = {"gone_on_from": list(self.gone_on_from)} if self.gone_on_from else {}
        return {
            "epochs": self.epochs,
            "best_epoch": self.best_epoch,
            "best_value": self.best_value,
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu_seconds, 3),
            "stopped_early": self.stopped_early,
            **went_on,
        }
