"""What happened in a search, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from sidrec.decoding.beam import Beams


@dataclass(frozen=True)
class TraceStep:
    """One step of all users."""

    before: Beams
    confidence: Tensor
    """(users, beams, M): the highest log-probability of a code that may be taken; -inf for slots not asked."""
    chosen: Tensor
    """(users, beams, slots of this step): the slots each beam filled, in the order it filled them."""
    after: Beams
    fitting: Tensor | None
    """(users, beams after): IDs that still fit each beam; None in a search without a constraint."""

    def cpu(self) -> TraceStep:
        fitting = None if self.fitting is None else self.fitting.cpu()
        return TraceStep(self.before.cpu(), self.confidence.cpu(), self.chosen.cpu(), self.after.cpu(), fitting)


@dataclass(frozen=True)
class Trace:
    steps: tuple[TraceStep, ...]

    def cpu(self) -> Trace:
        return Trace(tuple(step.cpu() for step in self.steps))
