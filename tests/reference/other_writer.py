"""Somebody else who writes the same output."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from sidrec.core.locks import Lease, locked


@contextmanager
def other_writer(path: Path) -> Iterator[None]:
    """Another thread holds the lock of `path` inside the block."""
    has_it, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(path):
            has_it.set()
            may_end.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert has_it.wait(10)
        yield
    finally:
        may_end.set()
        thread.join()


def lease_from_far(path: Path) -> Path:
    """A machine called `far` holds the lock of `path`; its lock file."""
    file = path.with_name(f".{path.name}.lock")
    file.write_text(json.dumps(asdict(Lease("far", "another kernel", 77, "yesterday", "abc"))))
    return file
