"""What the machine refuses, in words: room on the disk, names, open files, memory."""

from __future__ import annotations

import errno
import os

_DISK = {
    errno.ENOSPC: "no space left on the disk; free some and run the same command again",
    errno.EDQUOT: "the disk quota is used up; free some space and run the same command again",
    errno.EFBIG: "a file would become larger than this system allows; raise the limit (ulimit -f) or write elsewhere",
    errno.EACCES: "no permission to write there; choose another place",
    errno.EPERM: "no permission to write there; choose another place",
    errno.EROFS: "the file system is read-only; choose another place",
    errno.ENOTDIR: "a part of this path is a file, not a directory; choose another place",
    errno.ENAMETOOLONG: "the name is too long for this file system; choose a shorter one",
    errno.ELOOP: "a link on this path leads back to itself; mend it or choose another place",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n) and run the same command again",
    errno.ENFILE: "too many files are open on this machine; close some programs and run the same command again",
    errno.EIO: "the disk failed; check it, and run the same command again",
}
_ANYWHERE = _DISK.keys() - {errno.EACCES, errno.EPERM, errno.ENOTDIR}
"""Refusals that mean the same whatever was to be done; the others say where to write."""
_MEMORY = "not enough memory; free some, or ask for less at a time (smaller batches), and run the same command again"
_MEMORY_SIGNS = (
    "allocate memory",
    "out of memory",
    "bad_alloc",
    "not enough memory",
    "Failed to launch worker thread",
    "malloc of size",
    "failed to map segment",
    "can't start new thread",
)


def disk_refusal(error: BaseException) -> str | None:
    """Why the disk refused, also where a library wrapped the refusal in an error of its own; None for other errors."""
    code = _number(error)
    return None if code is None else _DISK[code]


def refusal(error: BaseException) -> str | None:
    """Why the machine refused, wherever that happened; None for errors that are none of its."""
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in _MEMORY_SIGNS):
        return _MEMORY
    code = _number(error)
    if code in _ANYWHERE:
        return f"{_place(error)}{_DISK[code]}"
    if code is not None:
        return f"{_place(error)}{os.strerror(code).lower()}"
    return None if error.__cause__ is None else refusal(error.__cause__)


def _number(error: BaseException) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno if error.errno in _DISK else None
    words = str(error)
    return next((code for code in _DISK if os.strerror(code) in words or f"(os error {code})" in words), None)


def _place(error: BaseException) -> str:
    place = error.filename if isinstance(error, OSError) else None
    return "" if place is None else f"{place}: "
