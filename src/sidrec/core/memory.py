"""How much memory one file may ask for: said before it is taken, so that a lying header ends in a sentence."""

from __future__ import annotations

import os
from pathlib import Path

LIMIT = "SIDREC_MEMORY_LIMIT_GB"
"""Environment variable that lowers (or raises) the limit."""
_GB = 1 << 30
_CONTAINER = Path("/sys/fs/cgroup/memory.max")


def memory_limit() -> int:
    """Bytes: as set, else what this machine (or the container around us) has."""
    try:
        return int(float(os.environ[LIMIT]) * _GB)
    except (KeyError, ValueError, OverflowError):
        return min(_machine(), _container())


def too_large(n_bytes: int) -> str | None:
    """Why so many bytes cannot be read, with the next step; None where they can."""
    limit = memory_limit()
    if n_bytes <= limit:
        return None
    return f"asks for {n_bytes / _GB:,.1f} GB of memory, the limit is {limit / _GB:,.1f} GB (raise it with {LIMIT})"


def _machine() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _container() -> int:
    try:
        return int(_CONTAINER.read_text())
    except (OSError, ValueError):
        return 1 << 62
