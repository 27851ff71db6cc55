"""When the host may look at what a device computed."""

from __future__ import annotations

import copy
from typing import TypeVar

import torch
from torch import Tensor

_Holder = TypeVar("_Holder")


def may_look(device: torch.device) -> bool:
    """On a CPU a look at a value is free and can save work. Anywhere else it stops the device until all it was given
    is done, so a step of a search never looks there: it computes what it might not need instead."""
    return device.type == "cpu"


def moved(holder: _Holder, device: torch.device) -> _Holder:
    """The same with all tensors it holds copied to the device."""
    other = copy.copy(holder)
    vars(other).update({name: value.to(device) for name, value in vars(holder).items() if isinstance(value, Tensor)})
    return other
