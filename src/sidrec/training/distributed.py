"""The processes that train together: equal weights at the start, gradients summed once per step.

There is no wrapper around the module: processes may have different numbers of loss parts, so gradients are added up
after the last one, in one message.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import nn

from sidrec.core.errors import SettingsError
from sidrec.training.weights import learned

T = TypeVar("T")


@dataclass(frozen=True)
class World:
    """This process among its peers; `here` asks the environment, a cluster's trainer may hand in its own."""

    rank: int
    size: int
    device: torch.device

    @classmethod
    def here(cls, device: str = "auto") -> World:
        """One alone, unless started by `accelerate launch` or torchrun."""
        from accelerate.state import PartialState

        _refuse_missing(device)
        state = PartialState(cpu=device == "cpu" or not _has_accelerator())
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


def leads() -> bool:
    """Whether this process is the one that writes artefacts and prints; asked without joining the others."""
    return os.environ.get("RANK", "0") == "0"


def portion(whole: slice, number: int, parts: int) -> slice:
    """The `number`-th of `parts` nearly equal neighbouring pieces of a slice."""
    length = whole.stop - whole.start
    return slice(whole.start + length * number // parts, whole.start + length * (number + 1) // parts)


def _has_accelerator() -> bool:
    """Accelerate lets processes without one find each other only when told that they train on the CPU."""
    return torch.cuda.is_available() or torch.backends.mps.is_available() or torch.xpu.is_available()


def _refuse_missing(device: str) -> None:
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(device, True):
        raise SettingsError(f"training.device = {device}: there is no such device here; use device = auto.")
