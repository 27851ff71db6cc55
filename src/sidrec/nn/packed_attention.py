"""Attention inside sequences that lie one after the other: sequences of one length at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

_FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_FLASH_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


@dataclass(frozen=True)
class Stretch:
    """`count` sequences of `length` rows; of each only the last `n_read` rows are read after the last layer."""

    count: int
    length: int
    n_read: int
    mask: Tensor | None = None  # (length, length), True where a row may look; None: everywhere

    def read_rows(self, first: int, device: torch.device) -> Tensor:
        """Their numbers, where the stretch begins at row `first`."""
        numbers = torch.arange(first, first + self.count * self.length, device=device)
        return numbers.view(self.count, self.length)[:, self.length - self.n_read :].flatten()


def all_read(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Stretches of which every row is read; neighbours that are alike become one."""
    found: list[Stretch] = []
    for stretch in stretches:
        count = stretch.count
        if found and found[-1].length == stretch.length and found[-1].mask is stretch.mask:
            count += found.pop().count
        found.append(Stretch(count, stretch.length, stretch.length, stretch.mask))
    return found


def attend(q: Tensor, keys_values: Tensor, stretches: Sequence[Stretch], n_heads: int, dropout: float = 0.0) -> Tensor:
    """Mixed values of the rows that are read: q (read rows, d_model), keys_values (rows, 2 * d_model)."""
    if dropout or q.device.type != "cpu" or q.dtype != keys_values.dtype:
        return _plain(q, keys_values, stretches, n_heads, dropout)
    mixed: Tensor = _Attend.apply(q, keys_values, stretches, n_heads)  # type: ignore[no-untyped-call]
    return mixed


def _plain(q: Tensor, keys_values: Tensor, stretches: Sequence[Stretch], n_heads: int, dropout: float) -> Tensor:
    sizes = [s.count * s.length for s in stretches]
    parts = zip(stretches, q.split([s.count * s.n_read for s in stretches]), keys_values.split(sizes), strict=True)  # type: ignore[no-untyped-call]
    found = []
    for stretch, rows, seen in parts:
        k, v = seen.chunk(2, dim=-1)
        q_heads, k_heads, v_heads = (_heads(part, stretch.count, n_heads) for part in (rows, k, v))
        mixed = F.scaled_dot_product_attention(q_heads, k_heads, v_heads, _read_mask(stretch), dropout)
        found.append(mixed.transpose(1, 2).flatten(2).flatten(0, 1))
    return torch.cat(found)


def _heads(rows: Tensor, count: int, n_heads: int) -> Tensor:
    """(count, heads, rows of a sequence, d_head)"""
    return rows.view(count, -1, n_heads, rows.shape[-1] // n_heads).transpose(1, 2)


def _read_mask(stretch: Stretch) -> Tensor | None:
    return None if stretch.mask is None else stretch.mask[stretch.length - stretch.n_read :]


class _Attend(torch.autograd.Function):
    """The kernels that `scaled_dot_product_attention` takes on a CPU, with results and gradients written in place."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, keys_values: Tensor, stretches: Sequence[Stretch], n_heads: int) -> Tensor:
        mixed, sums = torch.empty_like(q), []
        for part in _parts(stretches):
            heads = part.heads(q, keys_values, n_heads)
            out, total = _FLASH(*heads, 0.0, False, attn_mask=part.scores(q))
            part.of_queries(mixed, n_heads).copy_(out)
            sums.append(total)
        ctx.save_for_backward(q, keys_values, mixed, *sums)
        ctx.stretches, ctx.n_heads = stretches, n_heads
        return mixed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        q, keys_values, mixed, *sums = ctx.saved_tensors
        of_q, of_seen, grad = torch.empty_like(q), torch.empty_like(keys_values), grad.contiguous()
        for part, total in zip(_parts(ctx.stretches), sums, strict=True):
            given = (part.of_queries(grad, ctx.n_heads), *part.heads(q, keys_values, ctx.n_heads))
            out = part.of_queries(mixed, ctx.n_heads)
            found = _FLASH_BACKWARD(*given, out, total, 0.0, False, attn_mask=part.scores(q))
            for place, gradient in zip(part.heads(of_q, of_seen, ctx.n_heads), found, strict=True):
                place.copy_(gradient)
        return of_q, of_seen, None, None


@dataclass(frozen=True)
class _Part:
    """A stretch and where it lies."""

    stretch: Stretch
    rows: slice  # among the queries
    seen: slice  # among the keys and values

    def heads(self, q: Tensor, keys_values: Tensor, n_heads: int) -> tuple[Tensor, Tensor, Tensor]:
        k, v = keys_values[self.seen].chunk(2, dim=-1)
        count = self.stretch.count
        return self.of_queries(q, n_heads), _heads(k, count, n_heads), _heads(v, count, n_heads)

    def of_queries(self, q: Tensor, n_heads: int) -> Tensor:
        return _heads(q[self.rows], self.stretch.count, n_heads)

    def scores(self, like: Tensor) -> Tensor | None:
        """The mask as what is added to scores."""
        mask = _read_mask(self.stretch)
        if mask is None:
            return None
        return torch.zeros(mask.shape, dtype=like.dtype).masked_fill_(~mask, -torch.inf)


def _parts(stretches: Sequence[Stretch]) -> Iterator[_Part]:
    row = seen = 0
    for stretch in stretches:
        n_rows, n_seen = stretch.count * stretch.n_read, stretch.count * stretch.length
        yield _Part(stretch, slice(row, row + n_rows), slice(seen, seen + n_seen))
        row, seen = row + n_rows, seen + n_seen
