from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.stages import Stage, Stages, in_order, named

MADE: list[str] = []


class Notes(SilentProgress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


@dataclass(frozen=True)
class Sum(Stage[int]):
    """One more than all it needs."""

    room: ClassVar[str] = "sums"
    label: str
    parts: tuple[Stage[Any], ...] = ()

    @property
    def name(self) -> str:
        return self.label

    @property
    def needs(self) -> tuple[Stage[Any], ...]:
        return self.parts

    @property
    def words(self) -> str:
        return f"the sum {self.label}" if self.parts else ""

    def make(self, out: Path | None, progress: Progress, *needed: Any) -> int:
        MADE.append(f"{self.name} at {out}")
        return 1 + sum(needed)


LOW = Sum("low")
LEFT, RIGHT = Sum("left", (LOW,)), Sum("right", (LOW,))
TOP = Sum("top", (LEFT, Sum("right", (LOW,)), LOW))


def test_each_stage_is_made_once_after_what_it_needs():
    MADE.clear()
    progress = Notes()
    stages = Stages(lambda stage: Path(stage.room) / stage.name, progress)
    assert stages.get(TOP) == 1 + 2 + 2 + 1
    assert stages.get(LEFT) == 2
    assert [f"{name} at sums/{name}" for name in ("low", "left", "right", "top")] == MADE
    assert progress.lines == [f"making the sum {name}" for name in ("left", "right", "top")]


def test_the_order_of_everything_that_is_needed():
    assert [stage.name for stage in in_order([RIGHT, TOP])] == ["low", "right", "left", "top"]


def test_names_follow_the_values():
    assert named("a", {"x": 1}) == named("a", {"x": 1})
    assert named("a", {"x": 1}) != named("a", {"x": 2})
    assert named("a", {"x": 1}).startswith("a-")
