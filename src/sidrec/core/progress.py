"""Progress as a value that is handed down: libraries report, only the caller decides whether anything is shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from sidrec.core.plain_text import many_lines, one_line


class ProgressTask(Protocol):
    """One bar: `advance(n, loss=1.2)` moves it and shows the named figures beside it."""

    def advance(self, amount: int = 1, **figures: float | str) -> None: ...


class Progress(Protocol):
    """Where long jobs report."""

    def task(self, name: str, total: int | None = None) -> Any:
        """A context manager that yields a ProgressTask."""

    def note(self, text: str) -> None:
        """One line that stays, for example "skipped: already done"."""


class _SilentTask:
    def advance(self, amount: int = 1, **figures: float | str) -> None:
        """Nothing is shown."""


class SilentProgress:
    """Shows nothing; the default inside the library."""

    @contextmanager
    def task(self, name: str, total: int | None = None) -> Iterator[ProgressTask]:  # noqa: ARG002
        yield _SilentTask()

    def note(self, text: str) -> None:
        """Nothing is shown."""


class _LineTask:
    """Plain lines, at most one every few seconds: what a log file wants."""

    def __init__(self, name: str, total: int | None, stream: TextIO, every: float) -> None:
        self._name, self._total, self._stream, self._every = name, total, stream, every
        self._done, self._start = 0, time.monotonic()
        self._shown = self._start
        self._figures: dict[str, float | str] = {}

    def advance(self, amount: int = 1, **figures: float | str) -> None:
        self._done += amount
        self._figures = figures or self._figures
        now = time.monotonic()
        if now - self._shown >= self._every:
            self._shown = now
            self._show(now)

    def finish(self) -> None:
        """A last line, so that a log that began does not end in the middle; short tasks stay silent."""
        if self._shown > self._start:
            self._show(time.monotonic())

    def _show(self, now: float) -> None:
        elapsed = now - self._start
        rate = self._done / elapsed if elapsed > 0 else 0.0
        of = f"/{self._total}" if self._total else ""
        left = f", {(self._total - self._done) / rate:.0f} s left" if self._total and rate > 0 else ""
        named = "".join(f", {key} {_figure(value)}" for key, value in self._figures.items())
        self._stream.write(f"{one_line(self._name)}: {self._done}{of}, {elapsed:.0f} s{left}{named}\n")
        self._stream.flush()


class LineProgress:
    """Progress as plain lines on a stream, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None, every: float = 5.0) -> None:
        self._stream = stream or sys.stderr
        self._every = every

    @contextmanager
    def task(self, name: str, total: int | None = None) -> Iterator[ProgressTask]:
        line = _LineTask(name, total, self._stream, self._every)
        yield line
        line.finish()

    def note(self, text: str) -> None:
        self._stream.write(many_lines(text) + "\n")
        self._stream.flush()


class _RichTask:
    def __init__(self, bar: Any, task_id: Any) -> None:
        self._bar, self._id = bar, task_id

    def advance(self, amount: int = 1, **figures: float | str) -> None:
        shown = "  ".join(f"{key} {_figure(value)}" for key, value in figures.items())
        self._bar.update(self._id, advance=amount, **({"figures": shown} if shown else {}))


class RichProgress:
    """Live bars on a terminal; a task inside a task is a further bar of the same display."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, emoji=False)
        self._bars: Any = None

    @contextmanager
    def task(self, name: str, total: int | None = None) -> Iterator[ProgressTask]:
        if self._bars is not None:
            yield _RichTask(self._bars, self._bars.add_task(one_line(name), total=total, figures=""))
            return
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        words, figures = (TextColumn(f"{{task.{part}}}", markup=False) for part in ("description", "fields[figures]"))
        columns = (words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), figures)
        try:
            with Bars(*columns, console=self._console) as self._bars:
                yield _RichTask(self._bars, self._bars.add_task(one_line(name), total=total, figures=""))
        finally:
            self._bars = None

    def note(self, text: str) -> None:
        self._console.print(many_lines(text), highlight=False, markup=False)


def terminal_progress() -> Progress:
    """Live bars where a person is watching, in a terminal or a notebook; plain lines elsewhere."""
    return RichProgress() if sys.stderr.isatty() or in_notebook() else LineProgress()


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook; IPython is only asked where somebody imported it."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def _figure(value: float | str) -> str:
    return one_line(value) if isinstance(value, str) else f"{value:.4g}"
