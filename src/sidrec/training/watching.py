"""Looking on while a model trains: whoever watches is told every epoch, and may end the training by an exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

Look = Callable[[Mapping[str, float]], None]
"""Takes an entry of the training's history."""
_looks: ContextVar[Mapping[str, Look] | None] = ContextVar("looks", default=None)


@contextmanager
def watched(name: str, look: Look) -> Iterator[None]:
    """Inside the block every epoch of the training of this name is shown to `look`, when all of it is kept."""
    token = _looks.set({**(_looks.get() or {}), name: look})
    try:
        yield
    finally:
        _looks.reset(token)


def tell(name: str, entry: Mapping[str, float]) -> None:
    """An epoch of this training is over."""
    look = (_looks.get() or {}).get(name)
    if look is not None:
        look(entry)
