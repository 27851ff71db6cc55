"""How a search runs: steps, beams, order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from sidrec.core.errors import SettingsError
from sidrec.decoding.order import Confidence, Order


@dataclass(frozen=True)
class SearchPlan:
    """Plain numbers, checked once."""

    n_codes: int
    k: int = 10
    n_steps: int = 4
    beam_size: int = 50
    order: Order = "adaptive"
    narrowing: tuple[int, ...] | None = None
    """Beam size of each step, instead of the same everywhere; approximate, so off unless asked for."""
    confidence: Confidence = "valid"
    """Which codes speak for a slot of the adaptive order: those that may be taken, or all."""
    lazy_block: int = 0
    """Beams predicted at a time, best first, until the rest cannot matter; 0 predicts all at once. Same result."""

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise SettingsError("The search cannot run: " + "; ".join(problems) + ".")

    def _problems(self) -> list[str]:
        problems = []
        if not 1 <= self.n_steps <= self.n_codes:
            problems.append(f"n_steps is {self.n_steps}, choose 1 to {self.n_codes} (the codes of an ID)")
        if self.narrowing is not None and len(self.narrowing) != self.n_steps:
            problems.append(f"narrowing names {len(self.narrowing)} beam sizes for {self.n_steps} steps")
        if self.order not in get_args(Order):
            problems.append(f"order is '{self.order}', choose one of {', '.join(get_args(Order))}")
        if self.k < 1:
            problems.append(f"k is {self.k}, ask for at least one result")
        elif min(self.narrowing or (self.beam_size,)) < self.k:
            problems.append(f"fewer beams than the {self.k} results asked for, raise beam_size or narrowing to k")
        return problems

    @property
    def beam_sizes(self) -> tuple[int, ...]:
        return self.narrowing or (self.beam_size,) * self.n_steps

    @property
    def slots_per_step(self) -> tuple[int, ...]:
        """M // T slots a step; the last one takes what is left: M = 4, T = 3 gives 1, 1, 2."""
        each = self.n_codes // self.n_steps
        return (each,) * (self.n_steps - 1) + (self.n_codes - each * (self.n_steps - 1),)
