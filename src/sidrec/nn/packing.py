"""A Transformer over sequences of many lengths that lie one after the other: no padding, no small matrix products.

Everything but attention works row by row, so the rows of all sequences go through it together; attention takes
sequences of one length at a time. The last layer computes only what somebody reads. It is the same function of the same
weights as `Transformer.forward` on each sequence alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import RMSNorm

from sidrec.nn.packed_attention import Stretch, all_read, attend
from sidrec.nn.products import linear
from sidrec.nn.row_functions import gated, noise, normalised, take_once
from sidrec.nn.transformer import Transformer, TransformerBlock


def packed_forward(transformer: Transformer, x: Tensor, stretches: Sequence[Stretch], wanted: Tensor) -> Tensor:
    """Normed hidden states of the `wanted` rows, in their order; x (rows, d_model) holds the stretches' rows.

    `wanted` are different rows of `x`, each among those that its stretch says are read.
    """
    *earlier, last = transformer.layers()
    x = _last_layer(last, packed_layers(earlier, x, stretches), stretches, wanted)
    return normalised(x, _eps(transformer.norm)) * transformer.norm.weight


def packed_layers(blocks: Sequence[TransformerBlock], x: Tensor, stretches: Sequence[Stretch]) -> Tensor:
    """All rows after these layers."""
    every = all_read(stretches)
    for block in blocks:
        seen, weight = _before_attention(block, x)
        q = linear(seen, weight[: x.shape[-1]])
        x = finish_rows(block, x, _attend(block, q, seen, weight, every))
    return x


def _last_layer(block: TransformerBlock, x: Tensor, stretches: Sequence[Stretch], wanted: Tensor) -> Tensor:
    seen, weight = _before_attention(block, x)
    read = _read_rows(stretches, x.device)
    q = linear(take_once(seen, read), weight[: x.shape[-1]])
    mixed = _attend(block, q, seen, weight, stretches)
    number = torch.empty(x.shape[0], dtype=torch.long, device=x.device)
    number[read] = torch.arange(len(read), device=x.device)
    return finish_rows(block, take_once(x, wanted), take_once(mixed, number[wanted]))


def _before_attention(block: TransformerBlock, x: Tensor) -> tuple[Tensor, Tensor]:
    """Normed rows, and the weights of queries, keys and values with the norm's gains in them."""
    return normalised(x, _eps(block.norm_attention)), block.project_qkv.weight * block.norm_attention.weight


def _attend(block: TransformerBlock, q: Tensor, seen: Tensor, weight: Tensor, stretches: Sequence[Stretch]) -> Tensor:
    keys_values = linear(seen, weight[seen.shape[-1] :])
    return attend(q, keys_values, stretches, block.n_heads, block.attention_dropout if block.training else 0.0)


def _read_rows(stretches: Sequence[Stretch], device: torch.device) -> Tensor:
    found, first = [], 0
    for stretch in stretches:
        found.append(stretch.read_rows(first, device))
        first += stretch.count * stretch.length
    return torch.cat(found)


def finish_rows(block: TransformerBlock, x: Tensor, mixed: Tensor) -> Tensor:
    """`TransformerBlock.finish` in few passes; where `x` has one row for many of `mixed` it is added to all of them."""
    x = _add(block, x, linear(mixed, block.project_out.weight))
    return _add(block, x, linear(gated(_linear(x, block.norm_mlp, block.gate_and_up.weight)), block.down.weight))


def _add(block: TransformerBlock, x: Tensor, branch: Tensor) -> Tensor:
    share = block.dropout.p if block.training else 0.0
    return torch.addcmul(x, branch, noise(branch, share)) if share else x + branch


def _linear(x: Tensor, norm: RMSNorm, weight: Tensor) -> Tensor:
    """The product of the normed rows, the norm's gains folded into the weights."""
    return linear(normalised(x, _eps(norm)), weight * norm.weight)


def _eps(norm: RMSNorm) -> float:
    assert norm.eps is not None
    return norm.eps
