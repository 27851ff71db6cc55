"""THE Transformer block: pre-norm RMSNorm, scaled-dot-product attention, gated MLP, no biases.

Its pieces can be used apart, because two exact savings need them: a last layer that computes only the rows somebody
reads, and target rows that attend to a history whose keys and values were computed once (`with_history`).
Masks are boolean, True where a query may look, and broadcast to (batch, heads, queries, keys).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn import RMSNorm

from sidrec.nn.products import linear

INITIAL_STD = 0.05
Rows = slice | Tensor
"""Chosen query rows: a slice, one list of row numbers for all (rows,), or one per sequence (batch, rows)."""


class KeysValues(NamedTuple):
    """What later rows need of earlier ones, per layer."""

    keys: Tensor  # (batch, heads, length, d_head)
    values: Tensor  # (batch, heads, length, d_head)


class TransformerBlock(nn.Module):
    """One layer; dropout acts on the two residual branches, on attention probabilities only when asked for."""

    def __init__(
        self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0, attention_dropout: float = 0.0
    ) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model {d_model} is not a multiple of n_heads {n_heads}")
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.attention_dropout = attention_dropout
        self.norm_attention = RMSNorm(d_model, eps=1e-6)
        self.project_qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.project_out = nn.Linear(d_model, d_model, bias=False)
        self.norm_mlp = RMSNorm(d_model, eps=1e-6)
        self.gate_and_up = nn.Linear(d_model, 2 * d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, is_causal: bool = False, rows: Rows | None = None
    ) -> Tensor:
        """(batch, length, d_model) -> the same, or only the chosen `rows` of it; `mask` always speaks of all rows."""
        if rows is None:
            q, k, v = self.qkv(x)
            return self.finish(x, self.attend(q, k, v, mask, is_causal))
        if is_causal:
            raise ValueError("chosen rows need an explicit mask: is_causal counts rows from the first one")
        return self.rows_given(x, self.keys_values(x), mask, rows)

    def rows_given(self, x: Tensor, seen: KeysValues, mask: Tensor | None, rows: Rows) -> Tensor:
        """The chosen rows only, from keys and values that are already there."""
        chosen = take_rows(x, rows)
        return self.finish(chosen, self.attend(self.queries(chosen), *seen, mask=mask_rows(mask, rows)))

    def qkv(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, each (batch, heads, length, d_head)."""
        q, k, v = linear(self.norm_attention(x), self.project_qkv.weight).chunk(3, dim=-1)
        return self._heads(q), self._heads(k), self._heads(v)

    def queries(self, x: Tensor) -> Tensor:
        weight = self.project_qkv.weight[: x.shape[-1]]
        return self._heads(linear(self.norm_attention(x), weight))

    def keys_values(self, x: Tensor) -> KeysValues:
        weight = self.project_qkv.weight[x.shape[-1] :]
        k, v = linear(self.norm_attention(x), weight).chunk(2, dim=-1)
        return KeysValues(self._heads(k), self._heads(v))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        """Mixed values with the heads joined: (batch, queries, d_model)."""
        dropout = self.attention_dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout, is_causal=is_causal)
        return mixed.transpose(1, 2).flatten(2)

    def finish(self, x: Tensor, mixed: Tensor) -> Tensor:
        """The rest of the layer for rows `x` once attention has mixed the values; works row by row."""
        x = x + self.dropout(linear(mixed, self.project_out.weight))
        gate, up = linear(self.norm_mlp(x), self.gate_and_up.weight).chunk(2, dim=-1)
        finished: Tensor = x + self.dropout(linear(F.silu(gate) * up, self.down.weight))
        return finished

    def with_history(
        self, x: Tensor, history: KeysValues, visible: Tensor | None = None, own_mask: Tensor | None = None
    ) -> Tensor:
        """Rows that see a shared history and their own beam: (users, beams, n_codes, d_model) -> the same.

        `visible` marks the history tokens that may be seen, (users, length) or per beam (users, beams, length);
        `own_mask` (n_codes, n_codes) says who sees whom inside a beam. The beams are folded into the query axis, so
        the history is neither copied nor recomputed for any of them.
        """
        users, beams, n_codes, d_model = x.shape
        q, k, v = self.qkv(x.reshape(users, beams * n_codes, d_model))
        by_beam = (users, self.n_heads, beams, n_codes, self.d_head)
        own_q, own_k, own_v = q.view(by_beam), k.view(by_beam), v.view(by_beam)
        scale = 1.0 / math.sqrt(self.d_head)
        to_history = ((q * scale) @ history.keys.mT).view(*by_beam[:4], -1)  # (users, heads, beams, n_codes, length)
        to_own = (own_q * scale) @ own_k.mT  # (users, heads, beams, n_codes, n_codes)
        if visible is not None:
            per_beam = visible[:, None] if visible.ndim == 2 else visible
            to_history = to_history.masked_fill(~per_beam[:, None, :, None, :], -math.inf)
        if own_mask is not None:
            to_own = to_own.masked_fill(~own_mask, -math.inf)
        shares = torch.cat([to_history, to_own], dim=-1).softmax(-1)
        shares = F.dropout(shares, self.attention_dropout, self.training)
        of_history, of_own = shares.split([history.keys.shape[-2], n_codes], dim=-1)  # type: ignore[no-untyped-call]
        mixed = (of_history.flatten(2, 3) @ history.values).view(by_beam) + of_own @ own_v
        return self.finish(x, mixed.permute(0, 2, 3, 1, 4).flatten(3))

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], self.n_heads, self.d_head).transpose(1, 2)


class Transformer(nn.Module):
    """A stack of blocks and a final norm."""

    def __init__(
        self,
        n_layers: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.blocks: nn.ModuleList = nn.ModuleList(
            TransformerBlock(d_model, n_heads, d_ff, dropout, attention_dropout) for _ in range(n_layers)
        )
        self.norm = RMSNorm(d_model, eps=1e-6)
        initialise(self)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, is_causal: bool = False, rows: Rows | None = None
    ) -> Tensor:
        """(batch, length, d_model) -> normed hidden states, of the chosen `rows` only where given."""
        *earlier, last = self.layers()
        for block in earlier:
            x = block(x, mask, is_causal)
        hidden: Tensor = self.norm(last(x, mask, is_causal, rows))
        return hidden

    def encode(
        self, x: Tensor, mask: Tensor | None, n_kept: int, rows: Rows | None = None
    ) -> tuple[Tensor, list[KeysValues]]:
        """`forward`, and each layer's keys and values of the first `n_kept` tokens.

        They may stand for those tokens in `with_history` as long as the mask lets none of them see a later one.
        """
        kept = []
        blocks = self.layers()
        for block in blocks[:-1]:
            q, k, v = block.qkv(x)
            kept.append(KeysValues(k[:, :, :n_kept], v[:, :, :n_kept]))
            x = block.finish(x, block.attend(q, k, v, mask))
        seen = blocks[-1].keys_values(x)
        kept.append(KeysValues(seen.keys[:, :, :n_kept], seen.values[:, :, :n_kept]))
        return self.norm(blocks[-1].rows_given(x, seen, mask, slice(None) if rows is None else rows)), kept

    def with_history(
        self, x: Tensor, history: list[KeysValues], visible: Tensor | None = None, own_mask: Tensor | None = None
    ) -> Tensor:
        """Normed hidden states of target rows (users, beams, n_codes, d_model) that see a kept history."""
        for block, kept in zip(self.layers(), history, strict=True):
            x = block.with_history(x, kept, visible, own_mask)
        hidden: Tensor = self.norm(x)
        return hidden

    def layers(self) -> list[TransformerBlock]:
        return list(self.blocks)  # type: ignore[arg-type]


def take_rows(x: Tensor, rows: Rows) -> Tensor:
    """The chosen rows of (batch, length, width)."""
    if isinstance(rows, slice):
        return x[:, rows]
    if rows.ndim == 1:
        return x.index_select(1, rows)
    return x.gather(1, rows.unsqueeze(-1).expand(-1, -1, x.shape[-1]))


def mask_rows(mask: Tensor | None, rows: Rows) -> Tensor | None:
    """The chosen query rows of a mask; one that treats all queries alike stays as it is."""
    if mask is None or mask.shape[-2] == 1:
        return mask
    if isinstance(rows, slice):
        return mask[..., rows, :]
    if rows.ndim == 1:
        return mask.index_select(-2, rows)
    full = (
        mask.expand(rows.shape[0], *mask.shape[-3:]) if mask.ndim >= 3 else mask.expand(rows.shape[0], 1, *mask.shape)
    )
    return full.gather(-2, rows[:, None, :, None].expand(-1, full.shape[1], -1, full.shape[-1]))


def initialise(stack: Transformer) -> None:
    """Normal weights that are felt from the first step: the smaller ones of large language models learn later and
    overfit sooner at the widths of recommenders (validation figures: docs/decisions/0010-first-weights.md)."""
    for block in stack.layers():
        for layer in (block.project_qkv, block.project_out, block.gate_and_up, block.down):
            nn.init.normal_(layer.weight, std=INITIAL_STD)
