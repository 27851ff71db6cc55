"""What a Transformer does to each row alone, written for training on a CPU: few passes over memory, little to keep.

A layer of a recommender is so narrow that such passes cost as much as its matrix products. Results are those of the
plain formulas up to rounding; the draws of `noise` are others than those of `nn.Dropout`, with the same chances.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

_CHANCES = 2**16
"""A drawn word of 64 bits decides four numbers, by 16 bits each."""


def normalised(x: Tensor, eps: float) -> Tensor:
    """Each row divided by its root mean square: RMSNorm without gains, which belong into the next product's weights."""
    rows: Tensor = _Normalised.apply(x, eps)  # type: ignore[no-untyped-call]
    return rows


def gated(gate_and_up: Tensor) -> Tensor:
    """silu(gate) * up: (rows, 2 * width) to (rows, width)."""
    product: Tensor = _Gated.apply(gate_and_up)  # type: ignore[no-untyped-call]
    return product


def noise(like: Tensor, share: float) -> Tensor:
    """What dropout multiplies by: 0 for the dropped share, for the others a scale that keeps the expectation.

    The share is rounded to 1/65536, and the scale fits the rounded one.
    """
    dropped = round(share * _CHANCES)
    scale = _CHANCES / (_CHANCES - dropped)
    if like.device.type != "cpu":
        return torch.empty_like(like).bernoulli_(1 / scale).mul_(scale)
    words = torch.empty(-(-like.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    drawn = words.view(torch.int16)[: like.numel()].view(like.shape)
    # as float32 they are exact, and are compared many times as fast
    return drawn.float().ge_(dropped - _CHANCES // 2).mul_(scale).to(like.dtype)


def take_once(x: Tensor, rows: Tensor) -> Tensor:
    """Rows of `x` by their numbers, each at most once: then going backwards is taking as well, instead of adding."""
    taken: Tensor = _TakeOnce.apply(x, rows)  # type: ignore[no-untyped-call]
    return taken


class _Normalised(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        size = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        inverse = size.square_().div_(x.shape[-1]).add_(eps).rsqrt_()
        rows: Tensor = x * inverse
        ctx.save_for_backward(rows, inverse)
        return rows

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        rows, inverse = ctx.saved_tensors
        along = (grad * rows).sum(-1, keepdim=True).mul_(-1.0 / rows.shape[-1])
        return torch.addcmul(grad, rows, along).mul_(inverse), None


class _Gated(torch.autograd.Function):
    """Autograd would make each half's gradient alone and then copy both into one."""

    @staticmethod
    def forward(ctx: Any, gate_and_up: Tensor) -> Tensor:
        gate, up = gate_and_up.chunk(2, dim=-1)
        opened = F.silu(gate)
        ctx.save_for_backward(gate_and_up, opened)
        return opened * up

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        gate_and_up, opened = ctx.saved_tensors
        gate, up = gate_and_up.chunk(2, dim=-1)
        both = torch.empty_like(gate_and_up)
        of_gate, of_up = both.chunk(2, dim=-1)
        torch.mul(grad, opened, out=of_up)
        torch.ops.aten.silu_backward.grad_input(grad * up, gate, grad_input=of_gate)
        return both


class _TakeOnce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor) -> Tensor:
        ctx.n_rows = x.shape[0]
        ctx.save_for_backward(rows)
        return x.index_select(0, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        nowhere = rows.new_full((ctx.n_rows,), len(rows))
        nowhere[rows] = torch.arange(len(rows), device=rows.device)
        return F.pad(grad, (0, 0, 0, 1)).index_select(0, nowhere), None
