"""Generation by unmasking: each beam fills its surest slots, the best beams go on (Sec. 4.3).

Why k results come back whenever k allowed IDs exist and B >= k: children of one beam differ in the slot they fill, so
beams are disjoint sets of IDs and no ID appears twice. With an exact constraint every live beam still has an ID and so
at least one child; the number of live beams never falls. If beams were ever dropped, B were kept then, and B remain;
if none were, every allowed ID is among the results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sidrec.decoding.beam import Beams, pick
from sidrec.decoding.constraint import Constraint
from sidrec.decoding.order import candidates, choose, masked_slots
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.top_k import NEVER, first_best
from sidrec.decoding.trace import Asked, Trace, TraceStep

Predict = Callable[[Tensor, Tensor], Tensor]
"""Codes (users, beams, M), -1 where masked, and the asked slots (users, beams, s), different masked ones of each beam.
Gives the log-probabilities of those slots (users, beams, s, K), -inf beyond a slot's codebook."""


@dataclass(frozen=True)
class SearchResult:
    """Best first by total log-probability; ties: the better-ranked parent's child first, then the lower code."""

    codes: Tensor  # (users, k, n_codes) int64, -1 where nothing is left
    scores: Tensor  # (users, k), -inf there
    trace: Trace | None = None

    def cpu(self) -> SearchResult:
        """All at once, when it is through."""
        return SearchResult(self.codes.cpu(), self.scores.cpu(), None if self.trace is None else self.trace.cpu())

    @property
    def found(self) -> Tensor:
        """bool (users, k): ranks that hold an ID."""
        return self.scores > NEVER


def search(
    predict: Predict,
    n_users: int,
    plan: SearchPlan,
    constraint: Constraint | None = None,
    *,
    device: torch.device | None = None,
    trace: bool = False,
) -> SearchResult:
    """The k best IDs of every user; without a constraint IDs may name no item.

    `predict` first sees one beam per user, then at most B. A traced search predicts all beams of a step at once.
    Everything stays on `device`, where `predict` answers; no step looks at it or copies from it.
    """
    beams = Beams.start(n_users, plan.n_codes, device)
    stepper = Stepper(predict, plan, constraint)
    steps: list[TraceStep] = []
    for step in range(plan.n_steps):
        before = beams
        if trace:
            chosen, asked = stepper.predict_and_choose(before, step)
            beams = stepper.fill(chosen, step)
            fitting = None if constraint is None else constraint.count(beams.codes)
            steps.append(TraceStep.of(before, asked, chosen.pending, beams, fitting))
        else:
            beams = stepper.advance(before, step)
    return _result(beams, plan.k, Trace(tuple(steps)) if trace else None)


def first_step(
    predict: Predict,
    n_users: int,
    plan: SearchPlan,
    constraint: Constraint | None,
    device: torch.device | None = None,
) -> Beams:
    """The beams after step 1 alone, for ways that finish otherwise."""
    return Stepper(predict, plan, constraint).advance(Beams.start(n_users, plan.n_codes, device), 0)


@dataclass(frozen=True)
class Stepper:
    """One step: predict the masked slots of every beam, choose, fill one after the other."""

    predict: Predict
    plan: SearchPlan
    constraint: Constraint | None

    def advance(self, beams: Beams, step: int) -> Beams:
        if 0 < self.plan.lazy_block < len(beams):
            return self.fill_rest(self._first_slot_lazily(beams, step), step)
        return self.fill(self.predict_and_choose(beams, step)[0], step)

    def predict_and_choose(self, beams: Beams, step: int) -> tuple[Beams, Asked]:
        """Beams with the step's pending slots, and what was asked and answered."""
        count, n_filled = self.plan.slots_per_step[step], self._filled_before(step)
        slots = candidates(self.plan.order, masked_slots(beams.codes, self.plan.n_codes - n_filled), count)
        told = self.predict(beams.codes, slots)
        log_probs = self._only_valid(told, beams.codes, slots, n_filled)
        confidence = (told if self.plan.confidence == "all" else log_probs).amax(-1)
        columns = choose(self.plan.order, confidence, count)
        ready = replace(beams, pending=pick(slots, columns), log_probs=pick(log_probs, columns))
        return ready, Asked(slots, confidence, log_probs)

    def fill(self, beams: Beams, step: int) -> Beams:
        return self.fill_rest(self._expand(beams, self._width(step, beams)), step)

    def fill_rest(self, beams: Beams, step: int) -> Beams:
        """The pending slots after the first: their codes must fit what this step has already filled."""
        while left := beams.pending.shape[-1]:
            n_filled = self._filled_before(step) + self.plan.slots_per_step[step] - left
            next_slot = self._only_valid(beams.log_probs[:, :, :1], beams.codes, beams.pending[:, :, :1], n_filled)
            beams = replace(beams, log_probs=torch.cat([next_slot, beams.log_probs[:, :, 1:]], dim=2))
            beams = self._expand(beams, self._width(step, beams))
        return beams

    def _width(self, step: int, beams: Beams) -> int:
        """Only k are wanted of the very last expansion."""
        last = step == self.plan.n_steps - 1 and beams.pending.shape[-1] == 1
        return self.plan.k if last else self.plan.beam_sizes[step]

    def _filled_before(self, step: int) -> int:
        return sum(self.plan.slots_per_step[:step])

    def _only_valid(self, log_probs: Tensor, codes: Tensor, slots: Tensor, n_filled: int) -> Tensor:
        """Masked after the log-softmax and not renormalised: scores stay the model's own."""
        if self.constraint is None:
            return log_probs
        return torch.where(self.constraint.valid(codes, slots, n_filled), log_probs, NEVER)

    def _expand(self, beams: Beams, width: int) -> Beams:
        """The best `width` children over all of a user's beams, in the next pending slot."""
        totals = (beams.scores.unsqueeze(-1) + beams.log_probs[:, :, 0]).flatten(1)  # (users, beams * K)
        scores, columns = first_best(totals, min(width, totals.shape[1]))
        size = beams.log_probs.shape[-1]
        # a dead child's column is arbitrary and may lie beyond its slot's codebook
        codes = (columns % size).masked_fill(scores == NEVER, 0)
        return beams.extend(columns // size, codes, scores)

    def _first_slot_lazily(self, beams: Beams, step: int) -> Beams:
        """The same children, from the best parents only. It has to look whether it may stop, on any device.

        Log-probabilities only fall: when the last child that would be kept scores at least as high as the next parent,
        no later parent can have a better one (and an equal one would lose the tie).
        """
        best: Beams | None = None
        for start in range(0, len(beams), self.plan.lazy_block):
            if best is not None and self._settled(best, beams.scores[:, start], step):
                break
            block = self.predict_and_choose(beams.cut(start, start + self.plan.lazy_block), step)[0]
            width = self._width(step, block)
            children = self._expand(block, width)
            best = children if best is None else _best_of(best.beside(children), width)
        assert best is not None
        return best

    def _settled(self, best: Beams, next_parent: Tensor, step: int) -> bool:
        last = step == self.plan.n_steps - 1 and best.pending.shape[-1] == 0
        width = self.plan.k if last else self.plan.beam_sizes[step]
        settled = next_parent == NEVER
        if len(best) >= width:
            settled = settled | (best.scores[:, width - 1] >= next_parent)
        return bool(settled.all())


def _best_of(beams: Beams, width: int) -> Beams:
    scores, numbers = first_best(beams.scores, min(width, len(beams)))
    return replace(beams.take(numbers), scores=scores)


def _result(beams: Beams, k: int, trace: Trace | None) -> SearchResult:
    codes = beams.codes.masked_fill((beams.scores == NEVER).unsqueeze(-1), -1)
    missing = k - codes.shape[1]
    if missing > 0:
        codes = torch.nn.functional.pad(codes, (0, 0, 0, missing), value=-1)
        return SearchResult(codes, torch.nn.functional.pad(beams.scores, (0, missing), value=NEVER), trace)
    return SearchResult(codes, beams.scores, trace)
