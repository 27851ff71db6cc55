"""Four ways to read a history that never look ahead, and can all take one more row: what is known of the target.

`forward` reads the history alone. `after` gives every target row the vector it would have as the one place behind its
history: all targets of a sequence share one reading of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn

from sidrec.nn.linear_recurrence import LRUBlock
from sidrec.nn.positions import Distances
from sidrec.nn.transformer import Transformer

EncoderKind = Literal["attention", "lru", "gru", "filter"]


class HistoryEncoder(nn.Module, ABC):
    """(rows, n, d_model) to the same; place t knows places up to t."""

    @abstractmethod
    def forward(self, history: Tensor) -> Tensor:
        """Every place."""

    @abstractmethod
    def after(self, history: Tensor, targets: Tensor, places: Tensor) -> Tensor:
        """Targets (rows, copies, p, d_model), each behind history[:, : place + 1] of its place (p,), to the same."""

    def last(self, history: Tensor) -> Tensor:
        """The newest place alone, (rows, d_model)."""
        newest: Tensor = self(history)[:, -1]
        return newest


class AttentionEncoder(HistoryEncoder):
    """THE Transformer, causal; a target sees its history and itself, never another target.

    With `distances` places are told apart by how far they are from who looks; else the rows say where they stand.
    """

    def __init__(
        self, n_layers: int, d_model: int, n_heads: int, dropout: float, distances: Distances | None = None
    ) -> None:
        super().__init__()
        self.transformer = Transformer(n_layers, d_model, n_heads, 2 * d_model, dropout)
        self.distances = distances

    def forward(self, history: Tensor) -> Tensor:
        if self.distances is None:
            out: Tensor = self.transformer(history, is_causal=True)
            return out
        out = self.transformer(history, self._causal(history))
        return out

    def after(self, history: Tensor, targets: Tensor, places: Tensor) -> Tensor:
        n, copies = history.shape[1], targets.shape[1]
        mask = _targets_mask(n, tuple(places.tolist()), copies).to(history.device)
        if self.distances is not None:
            at = torch.cat([torch.arange(n, device=history.device), places.repeat(copies) + 1])
            mask = self.distances(at, at, mask)
        x = torch.cat([history, targets.flatten(1, 2)], 1)
        out: Tensor = self.transformer(x, mask, rows=slice(n, None))
        return out.view(targets.shape)

    def last(self, history: Tensor) -> Tensor:
        n = history.shape[1]
        out: Tensor = self.transformer(history, self._causal(history), rows=slice(n - 1, n))
        return out[:, 0]

    def _causal(self, history: Tensor) -> Tensor:
        at = torch.arange(history.shape[1], device=history.device)
        sees = at[:, None] >= at
        return sees if self.distances is None else self.distances(at, at, sees)


@lru_cache(maxsize=256)
def _targets_mask(n: int, places: tuple[int, ...], copies: int) -> Tensor:
    """Who sees whom in [history; targets]."""
    at = torch.cat([torch.arange(n), torch.tensor(places).repeat(copies)])
    sees = at[:, None] >= at
    sees[:, n:] = torch.eye(len(at), dtype=torch.bool)[:, n:]
    return sees


class LRUEncoder(HistoryEncoder):
    """Linear recurrent units: a target is one more step from the state after its place."""

    def __init__(self, n_layers: int, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.blocks: nn.ModuleList = nn.ModuleList(LRUBlock(d_model, dropout) for _ in range(n_layers))

    def forward(self, history: Tensor) -> Tensor:
        x: Tensor = self.norm(history)
        for block in self.blocks:
            x = block(x)
        return x

    def after(self, history: Tensor, targets: Tensor, places: Tensor) -> Tensor:
        x: Tensor = self.norm(history)
        rows: Tensor = self.norm(targets)
        for block in self.blocks:
            assert isinstance(block, LRUBlock)
            states = block.recurrence.states(x)
            rows = block.step(states[:, None, places], rows)[1]
            x = block(x)
        return rows


class GRUEncoder(HistoryEncoder):
    """Gated recurrent layers with a projection back to the space of the items."""

    def __init__(self, n_layers: int, d_model: int, dropout: float) -> None:
        super().__init__()
        self.layers: nn.ModuleList = nn.ModuleList(nn.GRU(d_model, d_model, batch_first=True) for _ in range(n_layers))
        self.dropout = nn.Dropout(dropout)
        self.project = nn.Linear(d_model, d_model)

    def forward(self, history: Tensor) -> Tensor:
        x = history
        for layer in self.layers:
            x = self.dropout(layer(x)[0])
        out: Tensor = self.project(x)
        return out

    def after(self, history: Tensor, targets: Tensor, places: Tensor) -> Tensor:
        x, rows = history, targets.reshape(-1, 1, targets.shape[-1])
        for layer in self.layers:
            states, _ = layer(x)
            starts = states[:, None, places].expand(targets.shape).reshape(1, -1, targets.shape[-1])
            rows = self.dropout(layer(rows, starts.contiguous())[0])
            x = self.dropout(states)
        out: Tensor = self.project(rows)
        return out.view(targets.shape)


class FilterEncoder(HistoryEncoder):
    """A learned filter over time for every feature (what frequency filters are, made causal), then a feed-forward."""

    def __init__(self, n_layers: int, d_model: int, dropout: float, length: int) -> None:
        super().__init__()
        self.blocks: nn.ModuleList = nn.ModuleList(_FilterBlock(d_model, dropout, length) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, history: Tensor) -> Tensor:
        x: Tensor = self.norm(history)
        for block in self.blocks:
            x = block(x)
        return x

    def after(self, history: Tensor, targets: Tensor, places: Tensor) -> Tensor:
        x: Tensor = self.norm(history)
        rows: Tensor = self.norm(targets)
        for block in self.blocks:
            assert isinstance(block, _FilterBlock)
            rows, x = block.after(x, rows, places), block(x)
        return rows


class _FilterBlock(nn.Module):
    def __init__(self, width: int, dropout: float, length: int) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(length, width) * length**-0.5)  # row a: what was a places ago
        self.dropout = nn.Dropout(dropout)
        self.after_filter, self.after_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        return self._rest(x, self._filtered(x, 0))

    def after(self, history: Tensor, targets: Tensor, places: Tensor) -> Tensor:
        mixed = self._filtered(history, 1)[:, None, places] + self.kernel[0] * targets
        return self._rest(targets, mixed)

    def _filtered(self, x: Tensor, shift: int) -> Tensor:
        """sum_a kernel[a + shift] x[t - a]: place t as it is, or as seen from `shift` places later."""
        n = x.shape[1]
        ages = torch.arange(n, device=x.device)[:, None] - torch.arange(n, device=x.device)
        known = (ages >= 0) & (ages + shift < len(self.kernel))
        weights = self.kernel[(ages + shift).clamp(0, len(self.kernel) - 1)] * known.unsqueeze(-1)  # (t, s, width)
        return torch.einsum("tsd,bsd->btd", weights, x)

    def _rest(self, x: Tensor, mixed: Tensor) -> Tensor:
        x = self.after_filter(x + self.dropout(mixed))
        out: Tensor = self.after_mlp(x + self.dropout(self.mlp(x)))
        return out
