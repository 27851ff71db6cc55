"""The first and the last layer of histories that see their target, for many targets each.

Below the first layer a history does not depend on the target: its queries, keys and values, and what its rows gather
from each other, are the same for every beam. A beam's few rows are then mixed in, exactly: softmax over two groups of
keys is the mean of the softmax over each, weighted by the groups' masses. Of the last layer somebody reads only the
target: fewer queries than a history has rows, so it is cheaper to carry the queries to the rows than to make a key and
a value of every row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from sidrec.nn.packing import finish_rows
from sidrec.nn.row_functions import normalised
from sidrec.nn.transformer import KeysValues, TransformerBlock, mask_rows, take_rows


class Gathered(NamedTuple):
    """What a history's rows gather from the history alone."""

    x: Tensor  # (users, length, d_model), as it comes into the layer
    queries: Tensor  # (users, heads, length, d_head), scaled
    seen: KeysValues
    top: Tensor  # (users, heads, length, 1), the highest score
    mass: Tensor  # (users, heads, length, 1), of the others relative to it
    values: Tensor  # (users, heads, length, d_head), not yet divided by the mass


def gather_history(block: TransformerBlock, x: Tensor, mask: Tensor | None = None) -> Gathered:
    """`x` (users, length, d_model) are histories of one length; `mask` says which of their rows see each other."""
    q, k, v = block.qkv(x)
    q = q / math.sqrt(block.d_head)
    scores = q @ k.mT  # (users, heads, length, length)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    top = scores.amax(-1, keepdim=True)
    shares = (scores - top).exp()
    return Gathered(x, q, KeysValues(k, v), top, shares.sum(-1, keepdim=True), shares @ v)


def with_targets(block: TransformerBlock, history: Gathered, targets: Tensor, own_mask: Tensor | None = None) -> Tensor:
    """The layer's rows for every target with its history before it: (users, targets, length + n_codes, d_model).

    `targets` (users, targets, n_codes, d_model); a history row sees all of each, `own_mask` says who sees whom inside.
    """
    users, n_targets, n_codes, _ = targets.shape
    k, v = block.keys_values(targets.flatten(1, 2))
    by_target = (users, block.n_heads, n_targets, n_codes, block.d_head)
    scores = (history.queries @ k.mT).view(*history.queries.shape[:3], n_targets, n_codes).transpose(2, 3)
    before = history.top.unsqueeze(2)  # (users, heads, 1, length, 1)
    top = torch.maximum(scores.amax(-1, keepdim=True), before)
    shares, kept = (scores - top).exp(), (before - top).exp()  # (users, heads, targets, length, n_codes) and (.., 1)
    mass = shares.sum(-1, keepdim=True) + kept * history.mass.unsqueeze(2)
    mixed = torch.addcmul((shares / mass) @ v.view(by_target), kept / mass, history.values.unsqueeze(2))
    rows = finish_rows(block, history.x.unsqueeze(1), mixed.permute(0, 2, 3, 1, 4).flatten(3))
    return torch.cat([rows, block.with_history(targets, history.seen, own_mask=own_mask)], 2)


def few_rows(block: TransformerBlock, x: Tensor, rows: Tensor, mask: Tensor | None = None) -> Tensor:
    """`TransformerBlock.forward` of few rows (batch, rows) of each sequence: (batch, rows, d_model).

    Keys are never made: q . (K x) = (K' q) . x, and the mean of values is the value of the mean.
    """
    batch, n_rows = rows.shape
    weight = block.project_qkv.weight * block.norm_attention.weight
    to_query, to_key, to_value = weight.view(3, block.n_heads, block.d_head, -1)
    assert block.norm_attention.eps is not None
    seen = normalised(x, block.norm_attention.eps)
    chosen = take_rows(seen, rows).flatten(0, 1)  # (batch * rows, d_model)
    reach = (chosen @ to_query.mT / math.sqrt(block.d_head)) @ to_key  # (heads, batch * rows, d_model)
    reach = reach.view(block.n_heads, batch, n_rows, -1).transpose(0, 1).flatten(1, 2)
    scores = reach @ seen.mT  # (batch, heads * rows, length)
    if mask is not None:
        allowed = mask_rows(mask, rows)  # (batch, 1, rows, length)
        assert allowed is not None
        scores = scores.view(batch, -1, n_rows, x.shape[1]).masked_fill(~allowed, -math.inf).flatten(1, 2)
    gathered = (scores.softmax(-1) @ seen).view(batch, -1, n_rows, x.shape[-1]).transpose(0, 1)  # (heads, batch, ..)
    mixed = gathered.flatten(1, 2) @ to_value.mT  # (heads, batch * rows, d_head)
    return finish_rows(block, take_rows(x, rows), mixed.transpose(0, 1).reshape(batch, n_rows, -1))
