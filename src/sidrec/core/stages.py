"""Stages: things that are made once and kept, each of which says what it needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from sidrec.core.manifest import Origin
from sidrec.core.progress import Progress

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Stage(ABC, Generic[T_co]):
    """One thing on the way to another; stages with equal names are the same thing."""

    room: ClassVar[str]
    """Where such things are kept together."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What tells it from everything else in its room, fit for a directory."""

    @property
    def words(self) -> str:
        """What is said when it is about to be made; nothing for what is only looked up."""
        return ""

    @property
    def needs(self) -> tuple[Stage[Any], ...]:
        """The stages it is made of."""
        return ()

    @abstractmethod
    def make(self, out: Path | None, progress: Progress, *needed: Any) -> T_co:
        """Find it finished in `out`, or make it of what its needs gave; without `out` it is only in memory."""


class Stages:
    """Makes stages and whatever they need, each once."""

    def __init__(self, place: Callable[[Stage[Any]], Path | None], progress: Progress) -> None:
        self._place, self._progress = place, progress
        self._made: dict[tuple[str, str], Any] = {}

    def get(self, stage: Stage[T]) -> T:
        key = (stage.room, stage.name)
        if key not in self._made:
            needed = [self.get(need) for need in stage.needs]
            if stage.words:
                self._progress.note(f"making {stage.words}")
            self._made[key] = stage.make(self._place(stage), self._progress, *needed)
        made: T = self._made[key]
        return made


def in_order(stages: Iterable[Stage[Any]]) -> list[Stage[Any]]:
    """These stages and all that they need, each once and after what it needs."""
    found: dict[tuple[str, str], Stage[Any]] = {}
    for stage in stages:
        for each in (*in_order(stage.needs), stage):
            found.setdefault((each.room, each.name), each)
    return list(found.values())


def named(words: str, values: Mapping[str, Any]) -> str:
    """Readable words and a short hash of the values."""
    return f"{words}-{Origin('name', values).fingerprint[:8]}"
