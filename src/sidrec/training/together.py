"""Artefacts that several processes need and one writes: the leading one, while the others help or wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

from sidrec.core.artifacts import Artifact, Origin, ensure, finished, opened
from sidrec.core.locks import locked
from sidrec.core.progress import Progress
from sidrec.training.distributed import World, alone

T = TypeVar("T")


@contextmanager
def leader_first() -> Iterator[None]:
    """What the block makes is made by the leading process; the others run it afterwards and find it."""
    world = None if alone() else World.here()
    if world is not None and not world.leads:
        world.wait()
    try:
        yield
    finally:
        if world is not None and world.leads:
            world.wait()


def ensure_together(
    path: Path,
    origin: Origin,
    make: Callable[[], None],
    load: Callable[[Artifact], T],
    progress: Progress | None = None,
) -> T:
    """`ensure` where `make` is the work of all processes together, of which the leading one writes the result."""
    if alone():
        return ensure(path, origin, make, load, progress)
    world = World.here()
    if not world.from_leader(finished(path, origin)):
        with locked(path) if world.leads else nullcontext():
            make()
        world.wait()
    with opened(path, origin.kind, verify=world.leads) as artifact:
        return load(artifact)
