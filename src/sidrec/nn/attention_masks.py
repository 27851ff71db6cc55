"""Who may look at whom: five patterns, each one small function of the items and slots of query and key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Pattern = Literal["bidirectional", "causal", "inter-item-causal", "intra-item-causal", "prefix"]


@dataclass(frozen=True)
class Tokens:
    """Where each token of a sequence stands: its item (later items have higher numbers), its slot, target or not."""

    item: Tensor  # (..., length)
    slot: Tensor  # (..., length)
    is_target: Tensor  # (..., length)


def sequence_tokens(n_history: int, n_codes: int, *, n_targets: int = 1, device: torch.device | None = None) -> Tokens:
    """The flat sequence of `n_history` items, oldest first, then the target, `n_codes` tokens each."""
    item = torch.arange(n_history + n_targets, device=device).repeat_interleave(n_codes)
    slot = torch.arange(n_codes, device=device).repeat(n_history + n_targets)
    return Tokens(item, slot, item >= n_history)


def bidirectional(query: Tokens, key: Tokens) -> Tensor:
    """Everything sees everything."""
    return torch.ones_like(query.item == key.item)


def causal(query: Tokens, key: Tokens) -> Tensor:
    """Nothing later in the flat sequence is seen."""
    return (key.item < query.item) | ((key.item == query.item) & (key.slot <= query.slot))


def inter_item_causal(query: Tokens, key: Tokens) -> Tensor:
    """No later item is seen; inside an item everything is."""
    return key.item <= query.item


def intra_item_causal(query: Tokens, key: Tokens) -> Tensor:
    """Inside an item no later slot is seen; other items are seen whole."""
    return (key.item != query.item) | (key.slot <= query.slot)


def prefix(query: Tokens, key: Tokens) -> Tensor:
    """History sees all history and never the target; the target sees everything."""
    return query.is_target | ~key.is_target


PATTERNS: dict[Pattern, Callable[[Tokens, Tokens], Tensor]] = {
    "bidirectional": bidirectional,
    "causal": causal,
    "inter-item-causal": inter_item_causal,
    "intra-item-causal": intra_item_causal,
    "prefix": prefix,
}


def attention_mask(pattern: Pattern, queries: Tokens, keys: Tokens | None = None) -> Tensor:
    """True where a query may look at a key: (..., queries, keys)."""
    keys = queries if keys is None else keys
    column = Tokens(queries.item[..., :, None], queries.slot[..., :, None], queries.is_target[..., :, None])
    row = Tokens(keys.item[..., None, :], keys.slot[..., None, :], keys.is_target[..., None, :])
    return PATTERNS[pattern](column, row)


def without_padding(mask: Tensor, real: Tensor) -> Tensor:
    """A (length, length) pattern for padded sequences, where `real` (batch, length) marks the tokens that exist.

    Padding is seen by nobody but itself: a row that saw nothing would turn into NaN. (batch, 1, length, length)
    """
    itself = torch.eye(mask.shape[-1], dtype=torch.bool, device=mask.device)
    return ((mask & real[:, None, :]) | itself).unsqueeze(1)


def one_pass_mask(n_clean: int, n_codes: int) -> Tensor:
    """Who sees whom in [clean items; noisy items], where the i-th noisy item is the target behind the i-th clean one.

    A clean item sees itself and older clean ones; a target sees the clean ones before it and itself: exactly what each
    (history, target) pair would see alone under `inter-item-causal`.
    """
    item = torch.arange(n_clean).repeat_interleave(n_codes)
    older_or_same = item[:, None] >= item[None]
    same = item[:, None] == item[None]
    top = torch.cat([older_or_same, torch.zeros_like(same)], 1)
    return torch.cat([top, torch.cat([older_or_same, same], 1)], 0)


def target_mask(n_codes: int, device: torch.device | None = None) -> Tensor:
    """`causal` inside the target: a slot sees itself and the slots before it."""
    return torch.ones(n_codes, n_codes, dtype=torch.bool, device=device).tril()
