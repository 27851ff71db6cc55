"""The forward process: which tokens are hidden, and what each hidden token weighs.

Noise is a value, drawn for a whole batch before anything else and indexed by row, so that grouping rows by length or
spreading them over processes never changes what is masked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor


@dataclass(frozen=True)
class Noise:
    """`masked` says which tokens become [MASK]; `weight` is 1/r for each token (0 where r is 0)."""

    masked: Tensor  # bool (rows, ..., n_codes)
    weight: Tensor  # float, same shape

    def in_one_column(self) -> Noise:
        """Noise of one item a row, (rows, n_codes), as (rows, 1, n_codes)."""
        return Noise(self.masked.unsqueeze(1), self.weight.unsqueeze(1))


def stratified_ratios(n: int, floor: float, generator: torch.Generator) -> Tensor:
    """One r in (floor, 1) per row, evenly spread over the batch: n equal strata, one shifted grid, shuffled rows."""
    shift = torch.rand(1, generator=generator)
    grid = (torch.arange(n) + shift) / n  # (n,)
    return floor + (1 - floor) * grid[torch.randperm(n, generator=generator)]


def mask_by_ratio(ratios: Tensor, shape: tuple[int, ...], generator: torch.Generator) -> Noise:
    """Each token hidden independently with its row's probability r, weight 1/r."""
    ratios = ratios.expand(shape)
    masked = torch.rand(shape, generator=generator) < ratios
    return Noise(masked, torch.where(ratios > 0, 1 / ratios.clamp_min(1e-9), torch.zeros(())))


def mask_exact_count(n_rows: int, n_codes: int, generator: torch.Generator) -> Noise:
    """n of the M tokens hidden, n uniform in 1..M and evenly spread over the batch, weight M/n."""
    spread = (torch.arange(n_rows) + torch.rand(1, generator=generator)) / max(n_rows, 1)
    counts = 1 + (spread * n_codes).long().clamp_max(n_codes - 1)[torch.randperm(n_rows, generator=generator)]
    ranks = torch.rand(n_rows, n_codes, generator=generator).argsort(-1).argsort(-1)
    masked = ranks < counts[:, None]
    return Noise(masked, (n_codes / counts)[:, None].expand(n_rows, n_codes))


def next_item_noise(
    n_rows: int, n_codes: int, kind: Literal["ratio", "exact-count"], floor: float, generator: torch.Generator
) -> Noise:
    """Next-item level masking (paper Sec. 4.2.3): (rows, n_codes)."""
    if kind == "exact-count":
        return mask_exact_count(n_rows, n_codes, generator)
    ratios = stratified_ratios(n_rows, floor, generator)
    return mask_by_ratio(ratios[:, None], (n_rows, n_codes), generator)


def history_noise(
    shape: tuple[int, int, int], kind: Literal["per-sequence", "per-item"], floor: float, generator: torch.Generator
) -> Noise:
    """User-history level masking (paper Sec. 4.2.2): (rows, items, n_codes), newest item last."""
    n_rows, n_items, n_codes = shape
    if kind == "per-sequence":
        return mask_by_ratio(stratified_ratios(n_rows, floor, generator)[:, None, None], shape, generator)
    levels = torch.randint(0, n_codes + 1, (n_rows, n_items, 1), generator=generator)
    return mask_by_ratio(levels / n_codes, shape, generator)
