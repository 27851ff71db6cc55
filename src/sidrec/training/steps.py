"""One optimiser step: the shares of this process back-propagated part by part, gradients summed, weights moved."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sidrec.training import seeding
from sidrec.training.distributed import World, portion
from sidrec.training.objective import Batch, Losses, Objective
from sidrec.training.optimizer import Optimizer
from sidrec.training.options import TrainingOptions
from sidrec.training.precision import Precision


class DivergedError(Exception):
    """The numbers are no longer finite; says which."""


@dataclass(frozen=True)
class Steps:
    """Everything a step needs."""

    module: nn.Module
    objective: Objective
    options: TrainingOptions
    world: World
    precision: Precision
    optimizer: Optimizer

    def take(self, rows: NDArray[np.int64], position: tuple[int, int], number: int) -> dict[str, float]:
        """The step at (epoch, step), `number` of all, on the rows of all processes; the step's figures."""
        self.optimizer.begin(number)
        figures = self.world.summed(self._back_propagate(rows, position))
        bad = [key.removeprefix("loss/") for key, value in figures.items() if not math.isfinite(value)]
        if bad:
            raise DivergedError(f"the loss is no longer a finite number (terms: {', '.join(bad)})")
        self.world.sum_gradients(self.optimizer.parameters)
        norm = self.optimizer.move()
        if norm is None:
            raise DivergedError("the gradient is no longer finite")
        return {**figures, "gradient_norm": norm}

    def _back_propagate(self, rows: NDArray[np.int64], position: tuple[int, int]) -> dict[str, float]:
        """Gradients of this process's share, micro-batch by micro-batch and part by part; their losses by name."""
        totals: dict[str, Tensor] = {}
        mine = self.world.share(len(rows))
        for micro in range(self.options.accumulate):
            share = portion(mine, micro, self.options.accumulate)
            if share.start == share.stop:
                continue
            noise = seeding.generator(self.options.seed, "noise", *position)
            torch.manual_seed(seeding.mixed_seed(self.options.seed, "dropout", *position, self.world.rank, micro))
            parts = iter(self.objective.parts(self.module, Batch(rows, share, noise, *position)))
            while True:
                with self.precision.autocast():
                    losses = next(parts, None)
                if losses is None:
                    break
                if losses.total.requires_grad:  # a part in which nothing was masked has no graph
                    self.optimizer.scaled(losses.total).backward()  # type: ignore[no-untyped-call]
                _add(totals, losses)
        return {key: float(value) for key, value in totals.items()}


def _add(totals: dict[str, Tensor], losses: Losses) -> None:
    for key, value in {"loss": losses.total, **{f"loss/{k}": v for k, v in losses.terms.items()}}.items():
        totals[key] = totals[key] + value.detach() if key in totals else value.detach().clone()
