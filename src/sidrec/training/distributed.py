"""The processes that train together: equal weights at the start, gradients summed once per step.

There is no wrapper around the module: processes may have different numbers of loss parts, so gradients are added up
after the last one, in one message.
"""

from __future__ import annotations

import atexit
import functools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import nn

from sidrec.core.errors import SettingsError
from sidrec.training.weights import learned

T = TypeVar("T")


@dataclass(frozen=True)
class World:
    """This process among its peers: handed in by whoever started them (`handed_in`), else what the environment says."""

    rank: int
    size: int
    device: torch.device

    @classmethod
    def here(cls, device: str = "auto") -> World:
        """The one that was handed in; else one alone, unless started by `accelerate launch` or torchrun."""
        given = _given.get()
        if given is not None:
            return given
        from accelerate.state import PartialState

        _refuse_missing(device)
        state = PartialState(cpu=device == "cpu" or not _has_accelerator())
        if state.num_processes > 1:
            _leave_at_the_end()
        # one process alone may train on another device than an earlier run in the same process did
        own = state.device if device == "auto" or state.num_processes > 1 else torch.device(device)
        return cls(state.process_index, state.num_processes, own)

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes, validates and shows progress."""
        return self.rank == 0

    def share(self, n_rows: int) -> slice:
        """This process's part of a step's rows."""
        return portion(slice(0, n_rows), self.rank, self.size)

    def from_leader(self, value: T) -> T:
        """The leading process's value, on every process."""
        if self.size == 1:
            return value
        box: list[Any] = [value]
        torch.distributed.broadcast_object_list(box, src=0, device=self._object_device)
        return box[0]  # type: ignore[no-any-return]

    def summed(self, figures: dict[str, float]) -> dict[str, float]:
        """Named figures added up over the processes, each of which may lack some names."""
        if self.size == 1:
            return figures
        everyone: list[Any] = [None] * self.size
        torch.distributed.all_gather_object(everyone, figures)
        total: dict[str, float] = {}
        for one in everyone:
            for key, value in one.items():
                total[key] = total.get(key, 0.0) + value
        return total

    def equalise(self, module: nn.Module) -> None:
        """Give every process what the leading process has learned; a frozen part is not sent around."""
        if self.size > 1:
            for tensor in learned(module).values():
                torch.distributed.broadcast(tensor, src=0)

    def sum_gradients(self, parameters: list[nn.Parameter]) -> None:
        """Add up the gradients in one message; a parameter no process used keeps none."""
        if self.size == 1:
            return
        used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.float32, device=self.device)
        pieces = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flat = torch.cat([used, *(piece.detach().reshape(-1) for piece in pieces)])
        torch.distributed.all_reduce(flat)
        sizes = [len(parameters), *(p.numel() for p in parameters)]
        counts, *sums = torch.split(flat, sizes)
        for parameter, count, total in zip(parameters, counts.tolist(), sums, strict=True):
            parameter.grad = total.view_as(parameter).clone() if count else None

    def wait(self) -> None:
        """Until every process has come here, for example before reading what the leading one has written."""
        if self.size > 1:
            torch.distributed.barrier()

    @property
    def _object_device(self) -> torch.device | None:
        return self.device if self.device.type == "cuda" else None


_given: ContextVar[World | None] = ContextVar("world", default=None)


@contextmanager
def handed_in(world: World) -> Iterator[None]:
    """Inside the block this process is one of `world`, whatever the environment says; the peers are connected."""
    token = _given.set(world)
    try:
        yield
    finally:
        _given.reset(token)


def leads() -> bool:
    """Whether this process is the one that writes artefacts and prints; asked without joining the others."""
    given = _given.get()
    return os.environ.get("RANK", "0") == "0" if given is None else given.leads


def alone() -> bool:
    """Whether this process was started on its own; asked without joining the others."""
    given = _given.get()
    return int(os.environ.get("WORLD_SIZE", "1")) == 1 if given is None else given.size == 1


def portion(whole: slice, number: int, parts: int) -> slice:
    """The `number`-th of `parts` nearly equal neighbouring pieces of a slice."""
    length = whole.stop - whole.start
    return slice(whole.start + length * number // parts, whole.start + length * (number + 1) // parts)


@functools.cache
def _leave_at_the_end() -> None:
    atexit.register(_leave)


def _leave() -> None:
    """Threads of the connection still hold what was sent last; one that lets go of it when the interpreter is gone ends
    the process by a signal, its work done. While this one sleeps, they can."""
    if torch.distributed.is_initialized():
        time.sleep(0.2)
        torch.distributed.destroy_process_group()


def _has_accelerator() -> bool:
    """Accelerate lets processes without one find each other only when told that they train on the CPU."""
    return torch.cuda.is_available() or torch.backends.mps.is_available() or torch.xpu.is_available()


def _refuse_missing(device: str) -> None:
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(device, True):
        raise SettingsError(f"training.device = {device}: there is no such device here; use device = auto.")
