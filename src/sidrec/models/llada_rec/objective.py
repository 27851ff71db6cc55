"""Training steps of LLaDA-Rec for THE loop: masks drawn for the batch, losses computed group by group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sidrec.data.histories import Histories
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.llada_rec.loss import masked_loss, total_loss
from sidrec.models.llada_rec.masking import Noise, history_noise, next_item_noise
from sidrec.models.llada_rec.network import MaskPredictor, masked_order, with_target_visible
from sidrec.models.llada_rec.samples import PAD, Pairs, every_prefix, one_prefix
from sidrec.models.samples import Samples, left_aligned
from sidrec.sids.item_tokens import MASKED
from sidrec.training.batches import length_groups
from sidrec.training.objective import Batch, Losses

GROUP_TOKENS = 4096
"""Tokens per forward pass: larger temporaries cost page faults, smaller ones starve the matrix products."""
Validate = Callable[[nn.Module], dict[str, float]]


class _Objective:
    """What all ways of sampling share."""

    def __init__(self, n_codes: int, settings: LLaDARecSettings, validate: Validate | None) -> None:
        self.settings, self._validate = settings, validate
        self.n_codes = n_codes
        scale = settings.masking.history_scale
        self.history_scale = 1.0 if scale == "sum" else 1.0 / (settings.max_history + 1)

    def validate(self, module: nn.Module) -> dict[str, float]:
        return self._validate(module) if self._validate else {}

    def after_epoch(self, module: nn.Module, epoch: int, generator: torch.Generator) -> dict[str, float]:  # noqa: ARG002
        return {}

    def _next_item_noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        masking = self.settings.masking
        return next_item_noise(n_rows, self.n_codes, masking.next_item, masking.ratio_floor, generator)

    def _history_noise(self, n_rows: int, n_items: int, generator: torch.Generator) -> Noise:
        masking = self.settings.masking
        shape = (n_rows, n_items, self.n_codes)
        return history_noise(shape, masking.history_ratio, masking.ratio_floor, generator)

    def _losses(self, next_item: Tensor, history: Tensor) -> Losses:
        total = total_loss(next_item, history, self.settings.history_mask_weight)
        return Losses(total, {"next_item": next_item.detach(), "history": history.detach()})


class PrefixObjective(_Objective):
    """Both losses for (history, next item) pairs: every prefix, or one random prefix per user and epoch."""

    def __init__(
        self, sequences: Histories, n_codes: int, settings: LLaDARecSettings, validate: Validate | None = None
    ) -> None:
        super().__init__(n_codes, settings, validate)
        self.sequences = sequences
        self.every = every_prefix(sequences, settings.max_history) if settings.samples == "every-prefix" else None
        self.users = np.flatnonzero(sequences.lengths >= 2)
        self.n_samples = len(self.every) if self.every else len(self.users)
        self.joint = settings.masking.history_input == "history-and-target"

    def pairs(self, rows: NDArray[np.int64], generator: torch.Generator) -> Pairs:
        if self.every is not None:
            return self.every.take(rows)
        return one_prefix(self.sequences, self.settings.max_history, self.users[rows], generator)

    def parts(self, module: nn.Module, batch: Batch) -> Iterator[Losses]:
        n_rows = len(batch.rows)
        pairs = self.pairs(batch.rows, batch.generator)
        next_noise = self._next_item_noise(n_rows, batch.generator)
        history_noise = self._history_noise(n_rows, self.settings.max_history + self.joint, batch.generator)
        mine = np.arange(n_rows)[batch.mine]
        tokens_per_row = (pairs.lengths[mine] + 1) * self.n_codes
        for group in length_groups(tokens_per_row, max_tokens=GROUP_TOKENS):
            rows = mine[group]
            at = torch.from_numpy(rows)
            yield self.group_losses(
                cast(MaskPredictor, module), pairs.take(rows), next_noise.take(at), history_noise.take(at), n_rows
            )

    def group_losses(
        self, module: MaskPredictor, pairs: Pairs, next_noise: Noise, history_noise: Noise, n_rows: int
    ) -> Losses:
        """The share of one group in the batch's loss: sums over its rows, divided by the rows of the whole batch."""
        device = module.device
        history = torch.from_numpy(pairs.histories()).long().to(device)  # (rows, width)
        target = torch.from_numpy(pairs.items[pairs.targets]).long().to(device)  # (rows,)
        visible = history != PAD
        noise = history_noise.newest(history.shape[1] + self.joint)
        lossy = self._joint if self.joint else self._apart
        next_item, past = lossy(module, history, target, visible, (next_noise.to(device), noise.to(device)))
        return self._losses(next_item / n_rows, past * self.history_scale / n_rows)

    def _apart(
        self, module: MaskPredictor, history: Tensor, target: Tensor, visible: Tensor, noises: tuple[Noise, Noise]
    ) -> tuple[Tensor, Tensor]:
        """The paper's inputs: the history loss sees the masked history alone."""
        next_noise, noise = noises
        seen = None if bool(visible.all()) else visible
        next_item = past = torch.zeros(())
        if self.settings.next_item_loss:
            codes = module.item_tokens.codes_of(target)
            hidden = module.target_hidden(history, codes.masked_fill(next_noise.masked, MASKED), seen)
            next_item = _weighted(module, hidden, codes, next_noise)
        if self.settings.history_mask_weight > 0:
            noise = Noise(noise.masked & visible[..., None], noise.weight)
            hidden = module.hidden(history, noise.masked, seen, with_target=False)
            past = _weighted(module, hidden, module.item_tokens.codes_of(history), noise)
        return next_item, past

    def _joint(
        self, module: MaskPredictor, history: Tensor, target: Tensor, visible: Tensor, noises: tuple[Noise, Noise]
    ) -> tuple[Tensor, Tensor]:
        """The authors' inputs: history and target are masked together, and both losses share one forward pass."""
        next_noise, noise = noises
        every = torch.cat([history, target[:, None]], 1)  # (rows, items)
        visible = with_target_visible(visible)
        noise = Noise(noise.masked & visible[..., None], noise.weight)
        masked = [noise.masked] if self.settings.history_mask_weight > 0 else []
        if self.settings.next_item_loss:
            masked.append(torch.cat([torch.zeros_like(noise.masked[:, 1:]), next_noise.masked[:, None]], 1))
        n_passes = len(masked)
        seen = None if bool(visible.all()) else visible.repeat(n_passes, 1)
        hidden = module.hidden(every.repeat(n_passes, 1), torch.cat(masked), seen)
        hidden = hidden.view(n_passes, *every.shape, self.n_codes, -1)
        codes = module.item_tokens.codes_of(every)
        next_item = past = torch.zeros(())
        if self.settings.next_item_loss:
            next_item = _weighted(module, hidden[-1][:, -1], codes[:, -1], next_noise)
        if self.settings.history_mask_weight > 0:
            past = _weighted(module, hidden[0], codes, noise)
        return next_item, past


class OnePassObjective(_Objective):
    """All targets of a user in one pass, for `inter-item-causal`.

    The history loss is computed once per window; item j's tokens count as often as the literal way would count them,
    once for every target behind it, so its expectation is the literal one.
    """

    def __init__(
        self, sequences: Histories, n_codes: int, settings: LLaDARecSettings, validate: Validate | None = None
    ) -> None:
        super().__init__(n_codes, settings, validate)
        self.windows = Samples.windows(sequences, settings.max_history)
        self.n_samples = len(self.windows)

    def parts(self, module: nn.Module, batch: Batch) -> Iterator[Losses]:
        n_rows, width = len(batch.rows), self.settings.max_history
        drawn = self._next_item_noise(n_rows * width, batch.generator)
        shape = (n_rows, width, self.n_codes)
        next_noise = Noise(drawn.masked.view(shape), drawn.weight.reshape(shape))
        history_noise = self._history_noise(n_rows, width, batch.generator)
        n_targets = int(self.windows.n_targets[batch.rows].sum())
        mine = np.arange(n_rows)[batch.mine]
        tokens_per_row = self.windows.n_targets[batch.rows[mine]] * 2 * self.n_codes
        for group in length_groups(tokens_per_row, max_tokens=GROUP_TOKENS):
            at = torch.from_numpy(mine[group])
            items = left_aligned(self.windows.take(batch.rows[mine[group]]))
            yield self.group_losses(
                cast(MaskPredictor, module), items, next_noise.take(at), history_noise.take(at), n_targets
            )

    def group_losses(
        self, module: MaskPredictor, items: Tensor, next_noise: Noise, history_noise: Noise, n_targets: int
    ) -> Losses:
        """The share of one group of windows in the batch's loss, divided by the targets of the whole batch."""
        device = module.device
        items, next_noise, history_noise = items.to(device), next_noise.to(device), history_noise.to(device)
        clean, target = items[:, :-1], items[:, 1:]  # (rows, targets)
        real = target != PAD
        lengths, count = real.sum(1), clean.shape[1]
        next_item = past = torch.zeros(())
        if self.settings.next_item_loss:
            noise = Noise(next_noise.masked[:, :count] & real[..., None], next_noise.weight[:, :count])
            codes = module.item_tokens.codes_of(target)
            hidden = module.one_pass_hidden(clean, codes.masked_fill(noise.masked, MASKED), lengths)
            next_item = _weighted(module, hidden, codes, noise)
        if self.settings.history_mask_weight > 0:
            behind = real.flip(1).cumsum(1).flip(1)  # targets that have this item in their history
            weight = history_noise.weight[:, :count] * behind[..., None]
            noise = Noise(history_noise.masked[:, :count] & real[..., None], weight)
            hidden = module.window_hidden(clean, noise.masked, lengths)
            past = _weighted(module, hidden, module.item_tokens.codes_of(clean), noise)
        return self._losses(next_item / n_targets, past * self.history_scale / n_targets)


def make_objective(
    sequences: Histories, n_codes: int, settings: LLaDARecSettings, validate: Validate | None = None
) -> PrefixObjective | OnePassObjective:
    """The objective for the chosen way of sampling."""
    kind = OnePassObjective if settings.samples == "one-pass" else PrefixObjective
    return kind(sequences, n_codes, settings, validate)


def _weighted(module: MaskPredictor, hidden: Tensor, codes: Tensor, noise: Noise) -> Tensor:
    """The masked tokens' loss, computed only where something is masked."""
    return masked_loss(module.token_losses(hidden, codes, noise.masked), masked_order(noise.weight, noise.masked))
