"""How a command ends: well, refused (2), stopped (130 by Ctrl-C, 143 by SIGTERM), or by a defect, with a traceback.

Only the standard library is imported here, so that a stop in the first moments, too, ends in words.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from sidrec.cli.streams import careful_streams
from sidrec.core.errors import SidrecError
from sidrec.core.refusals import refusal

if TYPE_CHECKING:
    from pathlib import Path

_IMPORTING = "<frozen importlib._bootstrap>"
_wishes: list[int] = []
"""The signals that have asked this command to stop."""


class Stopped(BaseException):
    """Somebody wants the program to end; not a KeyboardInterrupt, which libraries take for their own."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def ends_in_words(explain: Callable[[SidrecError], str] = str) -> Iterator[None]:
    """Whatever happens inside ends with one sentence and the right exit code."""
    with careful_streams(), _stoppable():
        try:
            try:
                yield
            finally:
                sys.stdout.flush()
        except SidrecError as error:
            _end(explain(error), 2)
        except Stopped as stop:
            _end(f"stopped{_what_is_kept()}", 128 + stop.number)
        except (SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            if _wishes:  # a library has made an error of its own of the wish to stop
                _end(f"stopped{_what_is_kept()}", 128 + _wishes[-1])
            words = refusal(error) if isinstance(error, Exception) else None
            if words is None:
                raise
            _end(f"{words}.", 2)


def _end(words: str, code: int) -> None:
    from sidrec.cli import console

    console.complain(words)
    sys.exit(code)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C and SIGTERM become `Stopped`; whoever ignores them (nohup) keeps ignoring them."""
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ours = [number for number, handler in before.items() if handler in usual]
    hook = sys.unraisablehook
    sys.unraisablehook = _again
    _wishes.clear()
    for number in ours:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number in ours:
            signal.signal(number, before[number])
        atexit.register(_too_late)


def _too_late() -> None:
    """While Python tidies up, everything is done and said."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _stop(number: int, frame: FrameType | None) -> None:
    """In the middle of an import nothing is being written, and an import that is cut short may end in any error."""
    if _is_importing(frame) and not _outputs():
        os.write(2, f"sidrec: stopped{_what_is_kept()}\n".encode())
        os._exit(128 + number)
    _wishes.append(number)
    raise Stopped(number)


def _again(lost: Any) -> None:
    """Where Python can't pass an exception on (in a finaliser, say), the wish to stop comes again a moment later."""
    if isinstance(lost.exc_value, Stopped):
        number = lost.exc_value.number
        signal.signal(signal.SIGALRM, lambda _, frame: _stop(number, frame))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(lost)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            return True
        frame = frame.f_back
    return False


def _outputs() -> list[Path]:
    """Without importing anything: whoever wrote has the module."""
    locks = sys.modules.get("sidrec.core.locks")
    return [] if locks is None else locks.outputs()


def _what_is_kept() -> str:
    found = _outputs()
    if not found:
        return " before anything was written; run the same command again."
    from sidrec.core.storage import siblings

    if siblings(found[0], "work"):
        return f"; the unfinished work for {found[0]} is kept, run the same command again to go on."
    if found[0].exists():
        return f"; what stands in {found[0]} is whole and kept, run the same command again to go on."
    return f"; nothing was written to {found[0]}, run the same command again."
