"""The matrix products of training: those of `F.linear`, forwards and backwards, by the quicker library on CPUs.

Torch gives products of fp32 to MKL. On an AMD EPYC that takes its 256-bit kernel for Zen, while oneDNN, which torch
brings as well, has a 512-bit one: 265 instead of 117 GFLOP/s for 4096 rows of 128 numbers and one thread. On Intel both
have the same kernels, and oneDNN's copies of transposed factors only cost: there everything stays as torch does it.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

_ROUND = 64
"""oneDNN compiles a program for each shape and keeps the last 1024: rounded numbers of rows recur."""


def linear(rows: Tensor, weight: Tensor) -> Tensor:
    """rows (..., in) times weight (out, in) transposed; where no gradient is recorded it is `F.linear` to the bit."""
    if not torch.is_grad_enabled() or not _onednn_takes(rows.flatten(0, -2), weight):
        return F.linear(rows, weight)
    product: Tensor = _Linear.apply(rows.flatten(0, -2), weight)  # type: ignore[no-untyped-call]
    return product.view(*rows.shape[:-1], -1)


def times(a: Tensor, b: Tensor) -> Tensor:
    """a (n, k) times b (m, k) transposed, where no gradient is asked for."""
    return _times(a, b) if _onednn_takes(a, b) else a @ b.mT


def across(a: Tensor, b: Tensor) -> Tensor:
    """a (n, k) transposed times b (n, m), where no gradient is asked for."""
    return _across(a, b) if _onednn_takes(a, b) else a.mT @ b


def _onednn_takes(rows: Tensor, weight: Tensor) -> bool:
    plain = all(
        x.device.type == "cpu" and x.dtype == torch.float32 and x.ndim == 2 and x.numel() for x in (rows, weight)
    )
    return plain and not torch.is_autocast_enabled("cpu") and _onednn_multiplies()


@functools.cache
def _onednn_multiplies() -> bool:
    """An inner operation of torch's: tried once, and left alone where a build does not have it or MKL is as quick."""
    if "AMD" not in _processor():
        return False
    one = torch.eye(2)
    try:
        return torch.equal(_times(one, one), one)
    except (AttributeError, RuntimeError):
        return False


def _processor() -> str:
    """Maker and family of this CPU as torch names them, "" where it cannot tell."""
    known: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return str(known.get("cpu_name", ""))


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor) -> Tensor:
        filled = _filled(rows)
        ctx.save_for_backward(filled, weight)
        return _times(filled, weight)[: len(rows)]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        n_rows, grad = len(grad), _filled(grad)
        of_rows = _times(grad, weight.mT)[:n_rows] if ctx.needs_input_grad[0] else None
        return of_rows, _across(grad, rows) if ctx.needs_input_grad[1] else None


def _across(a: Tensor, b: Tensor) -> Tensor:
    """a (n, k) transposed times b (n, m); oneDNN wants the first factor copied, so that is the narrower one."""
    return _times(a.mT, b.mT) if a.shape[1] <= b.shape[1] else _times(b.mT, a.mT).mT


def _filled(rows: Tensor) -> Tensor:
    """Zero rows behind `rows` up to a round number of them."""
    n_rows = len(rows)
    if n_rows % _ROUND == 0:
        return rows
    filled = rows.new_empty(n_rows + -n_rows % _ROUND, rows.shape[1])
    filled[:n_rows] = rows
    filled[n_rows:] = 0
    return filled


def _times(a: Tensor, b: Tensor) -> Tensor:
    """a (n, k) times b (m, k) transposed."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(a, b, None, "none", [], "")
    return product
