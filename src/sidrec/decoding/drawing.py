"""One user's search told step by step: as plain values, and as lines a newcomer can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sidrec.decoding.beam import Beams
from sidrec.decoding.top_k import NEVER
from sidrec.decoding.trace import Trace, TraceStep


class Fitting(Protocol):
    """A `UserConstraint`, or whatever knows which items are left."""

    def items_that_fit(self, codes: Tensor, user: int) -> NDArray[np.int32]: ...


@dataclass(frozen=True)
class Slot:
    """A slot of the best candidate: its code where it has one, else how sure the model is of the best code for it."""

    number: int
    code: int | None
    confidence: float | None
    """None where the slot is filled or was not asked."""
    filled_now: bool


@dataclass(frozen=True)
class Candidate:
    """A partly filled ID, None where open; its probability so far, and what it can still become."""

    codes: list[int | None]
    probability: float
    n_fitting: int
    titles: list[str]


@dataclass(frozen=True)
class StepStory:
    number: int
    n_steps: int
    slots: list[Slot]
    n_before: int
    choices: dict[tuple[int, ...], int]
    """Slot numbers filled in this step -> how many candidates chose so."""
    n_after: int
    best: list[Candidate]

    def as_dict(self) -> dict[str, Any]:
        choices = [{"slots": list(slots), "candidates": count} for slots, count in self.choices.items()]
        return {**asdict(self), "choices": choices}


@dataclass(frozen=True)
class Drawing:
    """How much to show, and with which characters."""

    n_beams: int = 3
    n_titles: int = 3
    title_width: int = 64
    bar_width: int = 24
    bar: str = "█░"
    """Full and empty."""
    parts: str = "▏▎▍▌▋▊▉"
    """Growing parts of a full one, so that small shares can be compared; may be empty."""


def tell(trace: Trace, titles: Sequence[str], fitting: Fitting, user: int = 0, n_beams: int = 3) -> list[StepStory]:
    """What happened in each step; every candidate told of carries the titles of all items that still fit it."""
    stories = []
    for number, step in enumerate(trace.steps, start=1):
        n_before, n_after = _live(step.before, user), _live(step.after, user)
        chosen = step.chosen[user, :n_before].tolist()
        choices = Counter(tuple(slot + 1 for slot in sorted(slots)) for slots in chosen)
        best = [_candidate(step.after, user, beam, titles, fitting) for beam in range(min(n_after, n_beams))]
        slots = _slots(step, user)
        stories.append(StepStory(number, len(trace.steps), slots, n_before, dict(choices.most_common()), n_after, best))
    return stories


def _live(beams: Beams, user: int) -> int:
    return int((beams.scores[user] > NEVER).sum())


def _slots(step: TraceStep, user: int) -> list[Slot]:
    codes, sure = step.before.codes[user, 0].tolist(), step.confidence[user, 0].tolist()
    filled_now = step.chosen[user, 0].tolist()
    return [
        Slot(
            number=slot + 1,
            code=None if code < 0 else code,
            confidence=exp(sure[slot]) if sure[slot] > NEVER else None,
            filled_now=slot in filled_now,
        )
        for slot, code in enumerate(codes)
    ]


def _candidate(beams: Beams, user: int, beam: int, titles: Sequence[str], fitting: Fitting) -> Candidate:
    codes = beams.codes[user, beam]
    items = fitting.items_that_fit(codes, user).tolist()
    shown = [None if code < 0 else code for code in codes.tolist()]
    return Candidate(shown, exp(float(beams.scores[user, beam])), len(items), [titles[item] for item in items])


def draw(stories: Sequence[StepStory], drawing: Drawing | None = None) -> list[str]:
    """The stories in text; a slot is `?` until a code is in it."""
    drawing = drawing or Drawing()
    lines: list[str] = []
    for story in stories:
        lines += [f"Step {story.number} of {story.n_steps}: {_headline(story)}"]
        if story.n_before > 1:
            best = _pattern([slot.code for slot in story.slots])
            lines.append(f"  The best of {story.n_before:,} candidates, {best}:")
        lines += [_slot_line(slot, drawing) for slot in story.slots]
        lines += _choices(story)
        lines += _candidates(story, drawing)
        lines.append("")
    return lines[:-1]


def _headline(story: StepStory) -> str:
    """Why these slots: they are the surest, the next in a fixed order, or the only ones left."""
    now = [slot for slot in story.slots if slot.filled_now]
    n_open = sum(slot.code is None for slot in story.slots)
    n_asked = sum(slot.confidence is not None for slot in story.slots)
    names = f"slot{'s' if len(now) > 1 else ''} {_joined([str(slot.number) for slot in now])}"
    sure = _joined([percent(slot.confidence or 0.0) for slot in now])
    be = "are" if len(now) > 1 else "is"
    if n_open == len(now):
        return f"only {names} {be} left ({sure} sure)." if story.number > 1 else f"{names} at once ({sure} sure)."
    if n_asked == len(now):
        return f"{names} {be} next in the fixed order ({sure} sure)."
    return f"{names} {be} surest ({sure}), so {'they get their codes' if len(now) > 1 else 'it gets its code'} now."


def _slot_line(slot: Slot, drawing: Drawing) -> str:
    if slot.code is not None:
        return f"    slot {slot.number}  code {slot.code}"
    if slot.confidence is None:
        return f"    slot {slot.number}  open"
    mark = "  <- filled now" if slot.filled_now else ""
    return f"    slot {slot.number}  {_bar(slot.confidence, drawing)} {percent(slot.confidence):>7}{mark}"


def _bar(share: float, drawing: Drawing) -> str:
    fineness = len(drawing.parts) + 1
    full, part = divmod(round(share * drawing.bar_width * fineness), fineness)
    drawn = drawing.bar[0] * full + (drawing.parts[part - 1] if part else "")
    return drawn + drawing.bar[1] * (drawing.bar_width - len(drawn))


def _choices(story: StepStory) -> list[str]:
    """Each candidate chooses for itself; worth a line where they differ."""
    if len(story.choices) < 2:
        return []
    told = [f"{count:,} fill slot {_joined([str(slot) for slot in slots])}" for slots, count in story.choices.items()]
    return [f"  Every candidate fills its own surest slot: {_joined(told)}."]


def _candidates(story: StepStory, drawing: Drawing) -> list[str]:
    done = story.number == story.n_steps
    lines = [f"  {_counted(story.n_after, 'candidate')} {'complete' if done else 'kept'}, likeliest first:"]
    for rank, found in enumerate(story.best[: drawing.n_beams], start=1):
        text = f"    {rank}. {_pattern(found.codes)}  {percent(found.probability):>7}  "
        shown = drawing.n_titles if rank == 1 else 1
        names = [_short(title, drawing.title_width) for title in found.titles[:shown]]
        if found.n_fitting == 0:
            lines.append(f"{text}no item fits")
        elif found.n_fitting == 1:
            lines.append(f"{text}1 item fits: {names[0]}")
        else:
            lines.append(f"{text}{found.n_fitting:,} items fit" + (", such as" if rank == 1 else ""))
            lines += [f"         - {name}" for name in names] if rank == 1 else []
    rest = story.n_after - min(len(story.best), drawing.n_beams)
    return [*lines, f"    and {rest:,} more"] if rest else lines


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 else f"{100 * share:.1g} %"


def _pattern(codes: Sequence[int | None]) -> str:
    return "[" + " ".join("  ?" if code is None else f"{code:3d}" for code in codes) + "]"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _short(title: str, width: int) -> str:
    return title if len(title) <= width else title[: width - 3].rstrip() + "..."
