"""Training steps of LLaDA-Rec for THE loop: masks drawn for the batch, losses computed pack by pack."""

from __future__ import annotations

from abc import ABC, abstractmethod
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
from sidrec.models.llada_rec.network import MaskPredictor, masked_order
from sidrec.models.llada_rec.packs import Noisy, Passes, Places
from sidrec.models.llada_rec.samples import Pairs, every_prefix, one_prefix
from sidrec.models.samples import Samples
from sidrec.training.objective import Batch, Losses

Validate = Callable[[nn.Module], dict[str, float]]
Noises = tuple[Noise, Noise]
"""Of the next items and of the histories, (rows, columns, n_codes) each."""


class _Objective(ABC):
    """What all ways of sampling share."""

    def __init__(
        self, sequences: Histories, n_codes: int, settings: LLaDARecSettings, validate: Validate | None
    ) -> None:
        self.settings, self._validate = settings, validate
        self.sequences, self.n_codes = sequences, n_codes
        scale = settings.masking.history_scale
        self.history_scale = 1.0 if scale == "sum" else 1.0 / (settings.max_history + 1)

    def validate(self, module: nn.Module) -> dict[str, float]:
        return self._validate(module) if self._validate else {}

    def after_epoch(self, module: nn.Module, epoch: int, generator: torch.Generator) -> dict[str, float]:  # noqa: ARG002
        return {}

    @abstractmethod
    def noisy(self, places: Places, noises: Noises) -> Noisy:
        """The part of the batch's noise that belongs to these places."""

    def losses(self, module: MaskPredictor, passes: Passes, noises: Noises, n_targets: int) -> Iterator[Losses]:
        """The passes' shares in the batch's loss, pack by pack: sums divided by the targets of the whole batch.

        A pass in which nothing is hidden has no loss, so it is not computed.
        """
        chosen = self._lossy(passes, noises)
        if not len(chosen):
            yield Losses(torch.zeros(()), {"next_item": torch.zeros(()), "history": torch.zeros(())})
            return
        for pack in passes.take(chosen).packs(self.n_codes):
            places = Places.of(pack)
            next_item, past = self._sums(module, places, self.noisy(places, noises))
            past = past * self.history_scale / n_targets
            total = total_loss(next_item / n_targets, past, self.settings.history_mask_weight)
            yield Losses(total, {"next_item": next_item.detach() / n_targets, "history": past.detach()})

    def _lossy(self, passes: Passes, noises: Noises) -> NDArray[np.int64]:
        places = Places.of(passes)
        hidden = self.noisy(places, noises).masked.any(-1).numpy()
        return np.flatnonzero(np.bincount(places.number[hidden], minlength=len(passes)))

    def _sums(self, module: MaskPredictor, places: Places, noisy: Noisy) -> tuple[Tensor, Tensor]:
        """Both losses summed over the places; logits exist only where something is hidden."""
        noisy = noisy.to(module.device)
        items = torch.from_numpy(self.sequences.items[places.at]).long().to(module.device)
        codes = module.item_tokens.codes_of(items)  # (places, n_codes)
        hidden = module.packed_hidden(codes, noisy.masked, places)
        right = masked_order(codes, noisy.masked)
        token_losses = module.token_losses(hidden, right, noisy.masked.sum(0).tolist())
        weights = (masked_order(weight, noisy.masked) for weight in (noisy.next_weight, noisy.past_weight))
        next_item, past = (masked_loss(token_losses, weight) for weight in weights)
        return next_item, past

    def _next_item_noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        masking = self.settings.masking
        return next_item_noise(n_rows, self.n_codes, masking.next_item, masking.ratio_floor, generator)

    def _history_noise(self, n_rows: int, n_items: int, generator: torch.Generator) -> Noise:
        masking = self.settings.masking
        shape = (n_rows, n_items, self.n_codes)
        return history_noise(shape, masking.history_ratio, masking.ratio_floor, generator)

    def _both(self, next_item: Passes, past: Passes) -> Passes:
        """The passes of the losses that are switched on."""
        if not self.settings.next_item_loss:
            return past
        return next_item.beside(past) if self.settings.history_mask_weight > 0 else next_item


class PrefixObjective(_Objective):
    """Both losses for (history, next item) pairs: every prefix, or one random prefix per user and epoch."""

    def __init__(
        self, sequences: Histories, n_codes: int, settings: LLaDARecSettings, validate: Validate | None = None
    ) -> None:
        super().__init__(sequences, n_codes, settings, validate)
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
        past_noise = self._history_noise(n_rows, self.settings.max_history + self.joint, batch.generator)
        passes = self.passes(pairs, np.arange(n_rows)[batch.mine])
        yield from self.losses(cast(MaskPredictor, module), passes, (next_noise.in_one_column(), past_noise), n_rows)

    def passes(self, pairs: Pairs, rows: NDArray[np.int64]) -> Passes:
        """The history with its target, and for the history loss the history alone (paper) or both again (authors)."""
        first, lengths = pairs.starts[rows], pairs.lengths[rows]
        next_item = Passes(rows, first, lengths, lengths + 1, np.ones(len(rows), dtype=bool))
        past = Passes(rows, first, lengths, lengths + self.joint, np.zeros(len(rows), dtype=bool))
        return self._both(next_item, past)

    def noisy(self, places: Places, noises: Noises) -> Noisy:
        """The history's columns count from the newest item, so that a row's noise does not depend on its company."""
        return Noisy.of(places, noises, np.where(places.is_next, 0, self.settings.max_history - places.ages))


class OnePassObjective(_Objective):
    """All targets of a user in one pass, for `inter-item-causal`.

    The history loss is computed once per window; item j's tokens count as often as the literal way would count them,
    once for every target behind it, so its expectation is the literal one.
    """

    def __init__(
        self, sequences: Histories, n_codes: int, settings: LLaDARecSettings, validate: Validate | None = None
    ) -> None:
        super().__init__(sequences, n_codes, settings, validate)
        self.windows = Samples.windows(sequences, settings.max_history)
        self.n_samples = len(self.windows)

    def parts(self, module: nn.Module, batch: Batch) -> Iterator[Losses]:
        n_rows, width = len(batch.rows), self.settings.max_history
        drawn = self._next_item_noise(n_rows * width, batch.generator)
        shape = (n_rows, width, self.n_codes)
        next_noise = Noise(drawn.masked.view(shape), drawn.weight.reshape(shape))
        past_noise = self._history_noise(n_rows, width, batch.generator)
        n_targets = int(self.windows.n_targets[batch.rows].sum())
        passes = self.passes(batch.rows, np.arange(n_rows)[batch.mine])
        yield from self.losses(cast(MaskPredictor, module), passes, (next_noise, past_noise), n_targets)

    def passes(self, windows: NDArray[np.int64], rows: NDArray[np.int64]) -> Passes:
        """The items before each target and then the targets; and for the history loss the former alone."""
        first, lengths = self.windows.starts[windows[rows]], self.windows.n_targets[windows[rows]]
        next_item = Passes(rows, first, lengths, 2 * lengths, np.ones(len(rows), dtype=bool), twice=True)
        return self._both(next_item, Passes(rows, first, lengths, lengths, np.zeros(len(rows), dtype=bool)))

    def noisy(self, places: Places, noises: Noises) -> Noisy:
        noisy = Noisy.of(places, noises, places.within - np.where(places.is_target, places.n_history, 0))
        behind = torch.from_numpy(places.ages)[:, None]  # targets that have this item in their history
        return Noisy(noisy.masked, noisy.next_weight, noisy.past_weight * behind)


def make_objective(
    sequences: Histories, n_codes: int, settings: LLaDARecSettings, validate: Validate | None = None
) -> PrefixObjective | OnePassObjective:
    """The objective for the chosen way of sampling."""
    kind = OnePassObjective if settings.samples == "one-pass" else PrefixObjective
    return kind(sequences, n_codes, settings, validate)
