"""The training step as it was before packing: sequences padded in groups of like length, plain autograd, `nn.Dropout`.

It computes the same losses; `train_speed.py` measures the present step against it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from sidrec.models.llada_rec.masking import Noise
from sidrec.models.llada_rec.network import MaskPredictor
from sidrec.models.llada_rec.objective import OnePassObjective, PrefixObjective
from sidrec.models.llada_rec.samples import Pairs
from sidrec.models.samples import left_aligned
from sidrec.nn.attention_masks import one_pass_mask
from sidrec.sids.item_tokens import MASKED
from sidrec.training.batches import length_groups

GROUP_TOKENS = 4096
PAD = -1


def padded_losses(
    objective: PrefixObjective | OnePassObjective,
    network: MaskPredictor,
    rows: NDArray[np.int64],
    generator: torch.Generator,
) -> Iterator[Tensor]:
    """The loss of a batch, group by group, for the same noise as the objective's own `parts`."""
    if isinstance(objective, OnePassObjective):
        return _one_pass(objective, network, rows, generator)
    return _prefixes(objective, network, rows, generator)


def _prefixes(
    objective: PrefixObjective, network: MaskPredictor, rows: NDArray[np.int64], generator: torch.Generator
) -> Iterator[Tensor]:
    pairs = objective.pairs(rows, generator)
    next_noise = objective._next_item_noise(len(rows), generator)
    past_noise = objective._history_noise(len(rows), objective.settings.max_history, generator)
    for group in length_groups((pairs.lengths + 1) * objective.n_codes, max_tokens=GROUP_TOKENS):
        noises = (_take(noise, torch.from_numpy(group)) for noise in (next_noise, past_noise))
        next_item, past = _prefix_sums(network, pairs.take(group), *noises)
        yield _total(objective, next_item, past, len(rows))


def padded_histories(pairs: Pairs) -> NDArray[np.int32]:
    """(samples, longest history), newest item last, PAD on the left."""
    width = int(pairs.lengths.max())
    at = pairs.targets[:, None] - np.arange(width, 0, -1)  # (samples, width)
    return np.where(at >= pairs.starts[:, None], pairs.items[np.maximum(at, 0)], PAD)


def _prefix_sums(network: MaskPredictor, pairs: Pairs, next_noise: Noise, noise: Noise) -> tuple[Tensor, Tensor]:
    """The paper's inputs: the history loss sees the masked history alone."""
    history = torch.from_numpy(padded_histories(pairs)).long()  # (rows, width)
    target = torch.from_numpy(pairs.items[pairs.targets]).long()  # (rows,)
    visible, width = history != PAD, history.shape[1]
    seen = None if bool(visible.all()) else visible
    codes = network.item_tokens.codes_of(target)
    hidden = network.target_hidden(history, codes.masked_fill(next_noise.masked, MASKED), seen)
    next_item = _weighted(network, hidden, codes, next_noise)
    noise = Noise(noise.masked[:, -width:] & visible[..., None], noise.weight[:, -width:])
    hidden = network.hidden(history, noise.masked, seen, with_target=False)
    return next_item, _weighted(network, hidden, network.item_tokens.codes_of(history), noise)


def _one_pass(
    objective: OnePassObjective, network: MaskPredictor, rows: NDArray[np.int64], generator: torch.Generator
) -> Iterator[Tensor]:
    windows, n_codes, width = objective.windows, objective.n_codes, objective.settings.max_history
    drawn = objective._next_item_noise(len(rows) * width, generator)
    shape = (len(rows), width, n_codes)
    next_noise = Noise(drawn.masked.view(shape), drawn.weight.reshape(shape))
    past_noise = objective._history_noise(len(rows), width, generator)
    n_targets = int(windows.n_targets[rows].sum())
    for group in length_groups(windows.n_targets[rows] * 2 * n_codes, max_tokens=GROUP_TOKENS):
        noises = (_take(noise, torch.from_numpy(group)) for noise in (next_noise, past_noise))
        next_item, past = _window_sums(network, left_aligned(windows.take(rows[group])), *noises)
        yield _total(objective, next_item, past, n_targets)


def _window_sums(network: MaskPredictor, items: Tensor, next_noise: Noise, noise: Noise) -> tuple[Tensor, Tensor]:
    clean, target = items[:, :-1], items[:, 1:]  # (rows, targets)
    real, count = target != PAD, clean.shape[1]
    lengths = real.sum(1)
    ages = count - torch.arange(count)
    if network.positions.kind == "authors":
        ages = (lengths[:, None] - torch.arange(count)).clamp_min(0)
    next_noise = Noise(next_noise.masked[:, :count] & real[..., None], next_noise.weight[:, :count])
    past, codes = network.item_tokens.codes_of(clean), network.item_tokens.codes_of(target)
    every = torch.cat([past, codes.masked_fill(next_noise.masked, MASKED)], 1)
    x = network.embed(every, torch.cat([ages, (ages - 1).clamp_min(0)], -1), count)
    n_clean = count * network.n_codes
    hidden = network.transformer(x, one_pass_mask(count, network.n_codes), rows=slice(n_clean, None))
    next_item = _weighted(network, hidden.view(*codes.shape, -1), codes, next_noise)
    behind = real.flip(1).cumsum(1).flip(1)  # targets that have this item in their history
    noise = Noise(noise.masked[:, :count] & real[..., None], noise.weight[:, :count] * behind[..., None])
    x = network.embed(past.masked_fill(noise.masked, MASKED), ages, count)
    hidden = network.transformer(x, network.mask_for(count, None, with_target=False)).view(*past.shape, -1)
    return next_item, _weighted(network, hidden, past, noise)


def _weighted(network: MaskPredictor, hidden: Tensor, codes: Tensor, noise: Noise) -> Tensor:
    """Slot by slot, logits only where something is masked."""
    total = torch.zeros(())
    for slot in range(network.n_codes):
        at = noise.masked[..., slot]
        logits = hidden[..., slot, :][at] @ network.head[slot].mT / network.temperature
        losses = F.cross_entropy(logits, codes[..., slot][at], reduction="none")
        total = total + (losses * noise.weight[..., slot][at]).sum()
    return total


def _total(objective: PrefixObjective | OnePassObjective, next_item: Tensor, past: Tensor, n_targets: int) -> Tensor:
    return (next_item + objective.settings.history_mask_weight * objective.history_scale * past) / n_targets


def _take(noise: Noise, rows: Tensor) -> Noise:
    return Noise(noise.masked[rows], noise.weight[rows])
