"""What happened in a search, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from sidrec.decoding.beam import Beams
from sidrec.decoding.top_k import NEVER

N_TOLD = 6
"""Codes of a slot that are remembered, the likeliest first."""


@dataclass(frozen=True)
class Asked:
    """What the model said in one step."""

    slots: Tensor
    """(users, beams, s): the slots it was asked about."""
    confidence: Tensor
    """(users, beams, s): how sure it was of each."""
    log_probs: Tensor
    """(users, beams, s, K), -inf for codes that may not be taken."""

    def by_slot(self, values: Tensor, n_codes: int) -> Tensor:
        """Values of the asked slots (users, beams, s, ...) at their places among all M; -inf or -1 elsewhere."""
        fill = NEVER if values.is_floating_point() else -1
        everywhere = values.new_full((*values.shape[:2], n_codes, *values.shape[3:]), fill)
        places = self.slots.view(*self.slots.shape, *[1] * (values.dim() - 3)).expand_as(values)
        return everywhere.scatter(2, places, values)


@dataclass(frozen=True)
class TraceStep:
    """One step of all users."""

    before: Beams
    confidence: Tensor
    """(users, beams, M): the highest log-probability of a code that may be taken; -inf for slots not asked."""
    codes: Tensor
    """(users, beams, M, n): the likeliest codes of each slot that may be taken; -1 for slots not asked."""
    log_probs: Tensor
    """(users, beams, M, n): theirs, -inf where there are fewer."""
    chosen: Tensor
    """(users, beams, slots of this step): the slots each beam filled, in the order it filled them."""
    after: Beams
    fitting: Tensor | None
    """(users, beams after): IDs that still fit each beam; None in a search without a constraint."""

    @classmethod
    def of(cls, before: Beams, asked: Asked, chosen: Tensor, after: Beams, fitting: Tensor | None) -> TraceStep:
        n_codes = before.codes.shape[-1]
        log_probs, codes = asked.log_probs.sort(dim=-1, descending=True, stable=True)
        return cls(
            before=before,
            confidence=asked.by_slot(asked.confidence, n_codes),
            codes=asked.by_slot(codes[..., :N_TOLD], n_codes),
            log_probs=asked.by_slot(log_probs[..., :N_TOLD], n_codes),
            chosen=chosen,
            after=after,
            fitting=fitting,
        )

    def cpu(self) -> TraceStep:
        return TraceStep(
            before=self.before.cpu(),
            confidence=self.confidence.cpu(),
            codes=self.codes.cpu(),
            log_probs=self.log_probs.cpu(),
            chosen=self.chosen.cpu(),
            after=self.after.cpu(),
            fitting=None if self.fitting is None else self.fitting.cpu(),
        )


@dataclass(frozen=True)
class Trace:
    steps: tuple[TraceStep, ...]

    def cpu(self) -> Trace:
        return Trace(tuple(step.cpu() for step in self.steps))
