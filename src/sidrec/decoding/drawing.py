"""One user's search told step by step: as plain values, and as lines a newcomer can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
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
class CodeChance:
    """A code that a slot could take, and how likely it is."""

    code: int
    probability: float


@dataclass(frozen=True)
class Slot:
    """A slot of the best candidate: its code where it has one, else how sure the model is of the best code for it."""

    number: int
    code: int | None
    confidence: float | None
    """None where the slot is filled or was not asked."""
    filled_now: bool
    likely: list[CodeChance] = field(default_factory=list)
    """The likeliest codes that some item can still have."""


@dataclass(frozen=True)
class Candidate:
    """A partly filled ID, None where open; its probability so far, and what it can still become."""

    codes: list[int | None]
    probability: float
    n_fitting: int
    titles: list[str]
    parent: int = 1
    """The place, from 1, of the candidate it grew from among those before the step."""


@dataclass(frozen=True)
class Choice:
    """Slots filled in a step, and how many candidates chose so."""

    slots: list[int]
    candidates: int


@dataclass(frozen=True)
class StepStory:
    number: int
    n_steps: int
    slots: list[Slot]
    n_before: int
    choices: list[Choice]
    n_after: int
    best: list[Candidate]
    children: list[int] = field(default_factory=list)
    """For each candidate before the step, how many of those kept grew from it; 0: it was given up."""
    n_fitting: int | None = None
    """IDs that fit any candidate kept; None in a search that may leave the catalogue."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


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


@dataclass(frozen=True)
class Teller:
    """Whose search is told, and how much of it."""

    titles: Sequence[str]
    fitting: Fitting
    user: int = 0
    n_beams: int = 3
    n_titles: int | None = None
    """None: the titles of all items that still fit a candidate."""

    def story(self, trace: Trace, number: int) -> StepStory:
        step, user = trace.steps[number - 1], self.user
        n_before, n_after = _live(step.before, user), _live(step.after, user)
        chosen = Counter(tuple(slot + 1 for slot in sorted(slots)) for slots in step.chosen[user, :n_before].tolist())
        parents = _parents(step.before.codes[user, :n_before], step.after.codes[user, :n_after])
        return StepStory(
            number=number,
            n_steps=len(trace.steps),
            slots=_slots(step, user),
            n_before=n_before,
            choices=[Choice(list(slots), count) for slots, count in chosen.most_common()],
            n_after=n_after,
            best=[self._candidate(step.after, beam, parents[beam] + 1) for beam in range(min(n_after, self.n_beams))],
            children=np.bincount(parents, minlength=n_before).tolist(),
            n_fitting=None if step.fitting is None else int(step.fitting[user, :n_after].sum()),
        )

    def _candidate(self, beams: Beams, beam: int, parent: int) -> Candidate:
        codes = beams.codes[self.user, beam]
        items = self.fitting.items_that_fit(codes, self.user)
        shown = [None if code < 0 else code for code in codes.tolist()]
        titles = [self.titles[item] for item in items[: self.n_titles].tolist()]
        return Candidate(shown, exp(float(beams.scores[self.user, beam])), len(items), titles, parent)


def tell(trace: Trace, titles: Sequence[str], fitting: Fitting, user: int = 0, n_beams: int = 3) -> list[StepStory]:
    """What happened in each step; every candidate told of carries the titles of all items that still fit it."""
    return told(trace, Teller(titles, fitting, user, n_beams))


def told(trace: Trace, teller: Teller) -> list[StepStory]:
    """The same, as much of it as the teller tells."""
    return [teller.story(trace, number) for number in range(1, len(trace.steps) + 1)]


def _parents(before: Tensor, after: Tensor) -> list[int]:
    """The candidate (n, M) that each of those after the step grew from: no two can become the same ID."""
    agrees = (before.unsqueeze(0) < 0) | (before.unsqueeze(0) == after.unsqueeze(1))  # (after, before, M)
    found: list[int] = agrees.all(-1).byte().argmax(-1).tolist()
    return found


def _live(beams: Beams, user: int) -> int:
    return int((beams.scores[user] > NEVER).sum())


def _slots(step: TraceStep, user: int) -> list[Slot]:
    codes, sure = step.before.codes[user, 0].tolist(), step.confidence[user, 0].tolist()
    filled_now = step.chosen[user, 0].tolist()
    likely = [
        _likely(*told) for told in zip(step.codes[user, 0].tolist(), step.log_probs[user, 0].tolist(), strict=True)
    ]
    return [
        Slot(
            number=slot + 1,
            code=None if code < 0 else code,
            confidence=exp(sure[slot]) if sure[slot] > NEVER else None,
            filled_now=slot in filled_now,
            likely=likely[slot],
        )
        for slot, code in enumerate(codes)
    ]


def _likely(codes: Sequence[int], log_probs: Sequence[float]) -> list[CodeChance]:
    pairs = zip(codes, log_probs, strict=True)
    return [CodeChance(code, exp(log_prob)) for code, log_prob in pairs if log_prob > NEVER]


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
    counted = [(each.candidates, _joined([str(slot) for slot in each.slots])) for each in story.choices]
    told = [f"{count:,} fill slot {slots}" for count, slots in counted]
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
