"""Which epoch was best, and whether to go on."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class EarlyStopping:
    """Watches one validation figure; its three numbers are all that a checkpoint needs to keep."""

    best_value: float | None = None
    best_epoch: int | None = None
    waited: int = 0

    def observe(self, value: float, epoch: int, *, goal: str, min_improvement: float = 0.0) -> bool:
        """Whether `value` is the best so far; one that is not a finite number never is."""
        if math.isfinite(value) and self._better(value, goal, min_improvement):
            self.best_value, self.best_epoch, self.waited = value, epoch, 0
            return True
        self.waited += 1
        return False

    def exhausted(self, patience: int | None) -> bool:
        """Whether more validations than `patience` allows have passed without a new best."""
        return patience is not None and self.waited >= patience

    def _better(self, value: float, goal: str, min_improvement: float) -> bool:
        if self.best_value is None:
            return True
        gain = value - self.best_value if goal == "max" else self.best_value - value
        return gain > min_improvement * abs(self.best_value)
