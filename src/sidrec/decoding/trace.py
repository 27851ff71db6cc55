"""What happened in a search, step by step: as data, and as lines a newcomer can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sidrec.decoding.beam import Beams
from sidrec.decoding.top_k import NEVER


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


@dataclass(frozen=True)
class Trace:
    steps: tuple[TraceStep, ...]


class Fitting(Protocol):
    """A `UserConstraint`, or whatever knows which items are left."""

    def items_that_fit(self, codes: Tensor, user: int) -> NDArray[np.int32]: ...


@dataclass(frozen=True)
class Drawing:
    """How much of a trace to show."""

    n_beams: int = 3
    n_titles: int = 3
    title_width: int = 40


def draw(
    trace: Trace, titles: Sequence[str], constraint: Fitting, user: int = 0, drawing: Drawing | None = None
) -> list[str]:
    """The generation of one user in text: a slot is `?` until a code is in it; titles are those that still fit."""
    drawing = drawing or Drawing()
    lines = []
    for number, step in enumerate(trace.steps, start=1):
        lines.append(f"Step {number} of {len(trace.steps)}")
        lines += _choices(step, user, drawing)
        lines += _survivors(step, user, titles, constraint, drawing)
        lines.append("")
    return lines[:-1]


def _choices(step: TraceStep, user: int, drawing: Drawing) -> list[str]:
    """Before: how sure each slot was, and which was filled."""
    live = int((step.before.scores[user] > NEVER).sum())
    shown = min(live, drawing.n_beams)
    lines = [f"  {_counted(live, 'candidate')}; how sure the model is of each open slot (* is filled now):"]
    for beam in range(shown):
        filled_now = step.chosen[user, beam].tolist()
        cells = [
            f"slot {slot + 1}: {_percent(sure)}{'*' if slot in filled_now else ''}"
            for slot, sure in enumerate(step.confidence[user, beam].tolist())
            if sure > NEVER
        ]
        lines.append(f"    {_pattern(step.before.codes[user, beam])}  {'  '.join(cells)}")
    return [*lines, *_more(live - shown)]


def _survivors(step: TraceStep, user: int, titles: Sequence[str], constraint: Fitting, drawing: Drawing) -> list[str]:
    """After: the best beams and the items they can still become."""
    live = int((step.after.scores[user] > NEVER).sum())
    shown = min(live, drawing.n_beams)
    lines = [f"  {_counted(live, 'candidate')} kept, best first:"]
    for beam in range(shown):
        codes, score = step.after.codes[user, beam], float(step.after.scores[user, beam])
        items = constraint.items_that_fit(codes, user).tolist()
        names = [_short(titles[item], drawing.title_width) for item in items[: drawing.n_titles]]
        rest = ", ..." if len(items) > len(names) else ""
        fit = f"{_counted(len(items), 'item')} fit{'s' if len(items) == 1 else ''}"
        lines.append(f"    {beam + 1}. {_pattern(codes)}  {_percent(score)}  {fit}: {', '.join(names)}{rest}")
    return [*lines, *_more(live - shown)]


def _pattern(codes: Tensor) -> str:
    return "[" + " ".join("  ?" if code < 0 else f"{code:3d}" for code in codes.tolist()) + "]"


def _percent(log_probability: float) -> str:
    share = 100 * exp(log_probability)
    return f"{share:.1f} %" if share >= 0.1 else f"{share:.1g} %"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _more(count: int) -> list[str]:
    return [f"    and {count:,} more"] if count > 0 else []


def _short(title: str, width: int) -> str:
    return title if len(title) <= width else title[: width - 3].rstrip() + "..."
