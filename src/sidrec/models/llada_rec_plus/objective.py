"""What LLaDA-Rec Plus learns from: every next item with everything hidden, and with some of its codes visible."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from sidrec.data.dataset import Cases
from sidrec.data.histories import Histories
from sidrec.models.item_objective import NextItemObjective, Places
from sidrec.models.llada_rec_plus.agreement import Agreement
from sidrec.models.llada_rec_plus.config import LLaDARecPlusSettings
from sidrec.models.llada_rec_plus.network import PlusNetwork
from sidrec.models.samples import Samples, left_aligned
from sidrec.nn.item_losses import cross_entropy, ragged_cross_entropy, sampled_cross_entropy
from sidrec.nn.repeats import past_of

MAX_LOGITS = 2**19
"""Scores over the catalogue that are alive at once: 2 MB stay in the processor's cache."""
POPULARITY = 0.75
"""Negatives are drawn by training count to this power."""
Vectors = Callable[[Tensor], Tensor]


class PlusObjective(NextItemObjective[PlusNetwork]):
    """-log p(all hidden) + w x -log p(partly hidden), summed over all targets of a user in one pass."""

    def __init__(
        self,
        samples: Samples,
        validation: Cases,
        settings: LLaDARecPlusSettings,
        codes: NDArray[np.int64] | None,
        counts: NDArray[np.int64],
    ) -> None:
        super().__init__(samples, validation, settings.max_history)
        noisy = settings.partly_hidden_weight > 0 and codes is not None and codes.shape[1] > 1
        self.weight = settings.partly_hidden_weight if noisy else 0.0
        self.known = torch.from_numpy(codes >= 0) if noisy and codes is not None else None
        self.agreement = Agreement(codes) if noisy and codes is not None else None
        self.negatives = None
        if settings.samples_softmax(len(counts)):
            self.negatives = Negatives(counts, settings.n_negatives)

    def draw(self, n_rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Which slots are visible: 1 .. M - 1 of them, each number equally often."""
        if self.negatives is not None:
            self.negatives.draw(generator)
        if self.known is None:
            return ()
        shape = (n_rows, self.max_history, self.known.shape[1])
        count = torch.randint(1, shape[-1], (*shape[:-1], 1), generator=generator)
        return (torch.rand(shape, generator=generator).argsort(-1).argsort(-1) < count,)

    def loss(self, network: PlusNetwork, samples: Histories, noise: tuple[Tensor, ...]) -> Tensor:
        items = left_aligned(samples).to(network.items.device)
        history, targets = items[:, :-1], items[:, 1:]
        real = targets >= 0
        past = None if network.repeat is None else past_of(history, real)
        if not noise:
            hidden = network.hidden(history.clamp_min(0))[real]
            return self._all_hidden(network, Places(hidden, targets[real], past))[0]
        visible = self._visible(noise[0].to(items.device), targets.clamp_min(0))
        tokens = network.items.tokens_of(targets.clamp_min(0)) * visible
        copies = network.denoised(history.clamp_min(0), torch.stack([torch.zeros_like(tokens), tokens], 1))
        places = Places(copies[:, 0][real], targets[real], past)
        loss, vectors = self._all_hidden(network, places)
        noisy = Places(copies[:, 1][real], places.targets, past)
        return loss + self.weight * self._partly_hidden(network, noisy, visible[real], vectors)

    def _visible(self, drawn: Tensor, targets: Tensor) -> Tensor:
        """What is not known of an item cannot be shown."""
        assert self.known is not None
        return drawn[:, : targets.shape[1]] & self.known.to(drawn.device)[targets]

    def _all_hidden(self, network: PlusNetwork, places: Places) -> tuple[Tensor, Vectors]:
        """The loss over the catalogue, and how to get single item vectors without computing them again."""
        if self.negatives is not None:
            return self.negatives.loss(network, places), network.items
        table = network.item_table()
        bonus = places.bonus(network)
        loss = cross_entropy(places.hidden, table, places.targets, MAX_LOGITS, bonus)
        return loss, lambda items: F.embedding(items, table)

    def _partly_hidden(self, network: PlusNetwork, places: Places, visible: Tensor, vectors: Vectors) -> Tensor:
        """Softmax over the items that agree with the visible codes; they cancel, so it is the same energy."""
        assert self.agreement is not None
        rows, items = self.agreement.candidates(visible.cpu(), places.targets.cpu())
        rows, items = rows.to(visible.device), items.to(visible.device)
        scores = (F.embedding(rows, places.hidden) * vectors(items)).sum(-1)
        if network.repeat is not None and places.past is not None:
            scores = scores + network.repeat.of_items(places.past.take(rows), items[:, None])[:, 0]
        return ragged_cross_entropy(scores, rows, items == places.targets[rows])


class Negatives:
    """A sample of the catalogue for each step, weighted so that its sums stand for the whole."""

    def __init__(self, counts: NDArray[np.int64], n_draws: int) -> None:
        weights = np.maximum(counts, 1).astype(np.float64) ** POPULARITY
        share = weights / weights.sum()
        self.n_draws, self._cumulative = n_draws, torch.from_numpy(np.cumsum(share))
        self._log_chance = torch.from_numpy(np.log(-np.expm1(n_draws * np.log1p(-share)))).float()
        self.items = torch.empty(0, dtype=torch.int64)

    def draw(self, generator: torch.Generator) -> None:
        points = torch.rand(self.n_draws, generator=generator, dtype=torch.float64)
        found = torch.searchsorted(self._cumulative, points).clamp_max(len(self._cumulative) - 1)
        self.items = torch.unique(found)

    def loss(self, network: PlusNetwork, places: Places) -> Tensor:
        device = places.hidden.device
        items = self.items.to(device)
        rare = self._log_chance[self.items].to(device)
        own = network.items(places.targets)
        bonus, own_bonus = None, None
        if network.repeat is not None and places.past is not None:
            values = network.repeat.of_past(places.past)
            at = torch.searchsorted(items, places.past.items.contiguous()).clamp_max(len(items) - 1)
            there = (items[at] == places.past.items) & (places.past.items >= 0)
            bonus = (at, values * there)
            own_bonus = network.repeat.of_items(places.past, places.targets[:, None])[:, 0]
        hit = items == places.targets[:, None]
        return sampled_cross_entropy(places.hidden, own, network.items(items), rare, hit, bonus, own_bonus)
