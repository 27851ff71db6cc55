"""GRU4Rec: a recurrent network reads the history, dot products with its state score the items."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from sidrec.core.choices import OneOf, Space
from sidrec.core.settings import Settings
from sidrec.data.dataset import Cases, Dataset
from sidrec.models.item_objective import CausalNetwork, ItemObjective, NextItemObjective, Places
from sidrec.models.item_scorer import ItemScorer, ItemScorerSettings
from sidrec.models.samples import Samples
from sidrec.nn.item_losses import bpr_max
from sidrec.nn.item_vectors import NOTHING_KNOWN, ItemFeatures


class GRU4RecSettings(ItemScorerSettings):
    n_layers: int = Field(1, ge=1)
    loss: Literal["cross-entropy", "bpr-max"] = "cross-entropy"
    """`cross-entropy` over the full catalogue, or `bpr-max` against sampled negatives."""
    n_negatives: int = Field(512, ge=1)
    """Items drawn for each step, shared by all its positions (`bpr-max`)."""
    popularity_exponent: float = Field(0.5, ge=0)
    """Negatives are drawn by training count to this power: 0 is uniform, 1 by popularity (`bpr-max`)."""
    score_regularization: float = Field(1.0, ge=0)
    """Weight of the squared scores of the negatives (`bpr-max`)."""
    tuned: ClassVar[Space] = {
        **ItemScorerSettings.tuned,
        "n_layers": OneOf((1, 2)),
    }


class GRU4RecNetwork(CausalNetwork):
    """Item vectors, GRU layers, and a projection back to the space of the items."""

    def __init__(self, n_items: int, settings: GRU4RecSettings, features: ItemFeatures = NOTHING_KNOWN) -> None:
        super().__init__()
        width, layers = settings.d_model, settings.n_layers
        self.items, self.repeat = settings.vectors(n_items, features), settings.repeat_term()
        self.items.initialise(0.05)
        self.dropout = nn.Dropout(settings.dropout)
        self.gru = nn.GRU(width, width, layers, batch_first=True, dropout=settings.dropout if layers > 1 else 0.0)
        self.project = nn.Linear(width, width)

    def hidden(self, items: Tensor) -> Tensor:
        states, _ = self.gru(self.dropout(self.items(items)))
        out: Tensor = self.project(self.dropout(states))
        return out


class BprMaxObjective(NextItemObjective[GRU4RecNetwork]):
    """Each target against negatives that the whole step shares."""

    def __init__(self, samples: Samples, validation: Cases, counts: Tensor, settings: GRU4RecSettings) -> None:
        super().__init__(samples, validation, settings.max_history)
        weights = counts.double().clamp_min(1) ** settings.popularity_exponent
        self.cumulative = torch.cumsum(weights / weights.sum(), dim=0)
        self.negatives = torch.empty(0, dtype=torch.int64)
        self.n_negatives, self.regularization = settings.n_negatives, settings.score_regularization

    def draw(self, n_rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:  # noqa: ARG002
        points = torch.rand(self.n_negatives, generator=generator, dtype=torch.float64)
        self.negatives = torch.searchsorted(self.cumulative, points).clamp_max(len(self.cumulative) - 1)
        return ()  # nothing of it belongs to a row

    def place_loss(self, network: GRU4RecNetwork, places: Places) -> Tensor:
        negatives, targets = self.negatives.to(places.hidden.device), places.targets
        asked = torch.cat([targets[:, None], negatives.expand(len(targets), -1)], 1)
        bonus = places.bonus_of(network, asked)
        return bpr_max(places.hidden, network.item_table(), targets, negatives, self.regularization, bonus)


class GRU4Rec(ItemScorer):
    """Hidasi et al., with the loss at every position."""

    key = "gru4rec"
    settings_class: ClassVar[type[Settings]] = GRU4RecSettings
    settings: GRU4RecSettings

    def _build(self, n_items: int, features: ItemFeatures) -> GRU4RecNetwork:
        return GRU4RecNetwork(n_items, self.settings, features)

    def _objective(self, data: Dataset, validation: Cases, features: ItemFeatures) -> ItemObjective[Any]:  # noqa: ARG002
        samples = Samples.windows(data.train_sequences(), self.settings.max_history)
        if self.settings.loss == "cross-entropy":
            return NextItemObjective[GRU4RecNetwork](samples, validation, self.settings.max_history)
        counts = torch.from_numpy(data.train_counts().astype(np.int64))
        return BprMaxObjective(samples, validation, counts, self.settings)
