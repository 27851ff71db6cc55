"""Batches read one step ahead in a thread, so that parsing and coding share the time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Empty, Queue
from typing import TypeVar

Item = TypeVar("Item")
_DONE = object()


def read_ahead(source: Iterator[Item], depth: int = 2) -> Iterator[Item]:
    """The same items in the same order; an error of the source is raised here, where it would have been."""
    ready: Queue[object] = Queue(depth)
    stopped = threading.Event()
    thread = threading.Thread(target=_fill, args=(source, ready, stopped), daemon=True)
    thread.start()
    try:
        while True:
            item = ready.get()
            if item is _DONE:
                return
            if isinstance(item, _Failure):
                raise item.error
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        _drain(ready)
        thread.join()


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _fill(source: Iterator[Item], ready: Queue[object], stopped: threading.Event) -> None:
    try:
        for item in source:
            ready.put(item)
            if stopped.is_set():
                return
        ready.put(_DONE)
    except BaseException as error:
        ready.put(_Failure(error))


def _drain(ready: Queue[object]) -> None:
    """Make room, so that a thread that waits to put its item can end."""
    try:
        while True:
            ready.get_nowait()
    except Empty:
        return
