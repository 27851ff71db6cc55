"""Standard streams that may be full or closed: results that cannot be shown are an error in words, progress is not."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sidrec.core.errors import StorageError


class _Results(io.FileIO):
    """Standard output; who reads it must know when something is missing."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            raise StorageError(
                f"standard output: cannot be written ({error.strerror}); files that were written are whole."
            ) from None


class _Words(io.FileIO):
    """Standard error: what nobody can read is dropped, the work goes on."""

    def write(self, data: Any, /) -> int:
        with suppress(OSError):
            return super().write(data) or 0
        return len(data)


@contextmanager
def careful_streams() -> Iterator[None]:
    """Put them in the place of Python's own; streams that somebody else put there (a test, a notebook) are left."""
    _fill_gaps()
    own = (sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__)
    before = sys.stdout, sys.stderr
    if own[0]:
        sys.stdout = _text(_Results(1, "w", closefd=False), "strict")
    if own[1]:
        sys.stderr = _text(_Words(2, "w", closefd=False), "backslashreplace")
    try:
        yield
    finally:
        with suppress(StorageError):  # it was told already
            sys.stdout.flush()
        sys.stdout, sys.stderr = before


def _fill_gaps() -> None:
    """A closed stream's number would be given to the next file that is opened, and prints would go into it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest free number; writing fails, as it should


def _text(raw: io.FileIO, errors: str) -> io.TextIOWrapper:
    encoding = sys.__stdout__.encoding if sys.__stdout__ is not None else "utf-8"
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, encoding, errors, line_buffering=raw.isatty() or errors != "strict")
