"""Networks for weights that are there already: one that outgrows them is given up before it takes memory."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

_SPARE = 1 << 20


class TooManyWeightsError(Exception):
    """The network would have more weights than it may."""


class _Allowance(threading.local):
    left: float = math.inf


_allowance = _Allowance()


@contextmanager
def at_most(n_weights: int) -> Iterator[None]:
    """Inside the block networks of this thread have about so many weights in all, or are not built.

    Twice the number passes, since a layer may replace weights while it is built; whether all shapes are right is for
    whoever puts the weights in.
    """
    before, _allowance.left = _allowance.left, 2 * n_weights + _SPARE
    try:
        yield
    finally:
        _allowance.left = before


def _count(module: nn.Module, name: str, weights: nn.Parameter | None) -> None:  # noqa: ARG001
    """Most layers register weights before they fill them: until then the system has given them no memory."""
    if weights is not None:
        _allowance.left -= weights.numel()
        if _allowance.left < 0:
            raise TooManyWeightsError("the settings ask for more weights than there are")


# once and for good: the list of hooks must not change while another thread builds a network
register_module_parameter_registration_hook(_count)
