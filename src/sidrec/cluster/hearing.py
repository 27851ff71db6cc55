"""What a worker far away has to say, shown where the command was given."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from sidrec.core.progress import Progress, ProgressTask

_EVERY = 1.0
"""Seconds between two messages of a task, and between two looks at what was said."""
Message = tuple[str, int, Any]
"""What happened (`note`, `begin`, `advance`, `end`), to which task, and its figures."""


class Ear:
    """Lives in an actor of its own: workers speak to it, the driver asks what was said."""

    def __init__(self) -> None:
        self._said: list[Message] = []

    def say(self, message: Message) -> None:
        self._said.append(message)

    def heard(self) -> list[Message]:
        """Everything since the last time."""
        said, self._said = self._said, []
        return said


class FarProgress:
    """Progress that speaks to an ear; nobody waits for it."""

    def __init__(self, ear: Any) -> None:
        self._ear, self._tasks = ear, 0

    @contextmanager
    def task(self, name: str, total: int | None = None) -> Iterator[ProgressTask]:
        self._tasks += 1
        number = self._tasks
        self._ear.say.remote(("begin", number, (name, total)))
        task = _FarTask(self._ear, number)
        yield task
        task.tell()
        self._ear.say.remote(("end", number, None))

    def note(self, text: str) -> None:
        self._ear.say.remote(("note", 0, text))


class _FarTask:
    def __init__(self, ear: Any, number: int) -> None:
        self._ear, self._number, self._done, self._told = ear, number, 0, time.monotonic()
        self._figures: dict[str, float | str] = {}

    def advance(self, amount: int = 1, **figures: float | str) -> None:
        self._done += amount
        self._figures = figures or self._figures
        if time.monotonic() - self._told >= _EVERY:
            self.tell()

    def tell(self) -> None:
        self._ear.say.remote(("advance", self._number, (self._done, self._figures)))
        self._done, self._told = 0, time.monotonic()


@contextmanager
def listening(ray: Any, progress: Progress) -> Iterator[Any]:
    """An ear for workers; what they say inside the block is shown by `progress`."""
    ear = ray.remote(num_cpus=0)(Ear).remote()
    ended, shown = threading.Event(), _Shown(progress)

    def hear() -> None:
        with suppress(ray.exceptions.RayError):  # a machine that is lost may take the ear with it, and nothing else
            shown.take(ray.get(ear.heard.remote()))

    def listen() -> None:
        while not ended.wait(_EVERY):
            hear()

    thread = threading.Thread(target=listen, name="progress of workers", daemon=True)
    thread.start()
    try:
        yield ear
    finally:
        ended.set()
        thread.join()
        hear()
        shown.close()
        ray.kill(ear)


class _Shown:
    """Tasks of workers as tasks of ours; a worker that died took its tasks with it."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._open = progress, ExitStack()
        self._task: tuple[int, ProgressTask] | None = None

    def take(self, messages: list[Message]) -> None:
        for kind, number, what in messages:
            if kind == "note":
                self._progress.note(what)
            elif kind == "begin":
                self.close()
                self._task = number, self._open.enter_context(self._progress.task(*what))
            elif self._task is not None and self._task[0] == number:
                if kind == "advance":
                    self._task[1].advance(what[0], **what[1])
                else:
                    self.close()

    def close(self) -> None:
        self._open.close()
        self._task = None
