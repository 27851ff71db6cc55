"""What a running training shows: losses by name, samples per second, and the history it leaves."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from sidrec.core.progress import ProgressTask
from sidrec.core.storage import storage_errors

_EVERY = 0.2


class Meter:
    """Passes steps on to a progress bar, seldom enough to cost nothing beside millisecond steps."""

    def __init__(self, task: ProgressTask, done: int = 0) -> None:
        self._task = task
        self._pending = 0
        if done:
            task.advance(done)
        self._shown = time.monotonic()

    def step(self, samples: int, epoch: str, figures: dict[str, float]) -> None:
        self._pending += samples
        now = time.monotonic()
        if now - self._shown < _EVERY:
            return
        rate = self._pending / (now - self._shown)
        losses = {key.removeprefix("loss/"): value for key, value in figures.items() if key.startswith("loss")}
        shown: dict[str, float | str] = {"epoch": epoch, **losses, "samples/s": rate}
        self._task.advance(self._pending, **shown)
        self._pending, self._shown = 0, now

    def close(self) -> None:
        self._task.advance(self._pending)


class HistoryFile:
    """`history.jsonl`: one line per epoch, begun anew from a resumed run's epochs."""

    def __init__(self, workdir: Path | None, entries: list[dict[str, float]]) -> None:
        self._path = None if workdir is None else workdir / "history.jsonl"
        if self._path is not None:
            with storage_errors(self._path):
                self._path.write_text("".join(_line(entry) for entry in entries), encoding="utf-8")

    def add(self, entry: dict[str, Any]) -> None:
        if self._path is not None:
            with storage_errors(self._path), self._path.open("a", encoding="utf-8") as file:
                file.write(_line(entry))


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"
