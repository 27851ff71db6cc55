"""FMLP-Rec: learnable frequency filters in the place of attention."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sidrec.core.settings import Settings
from sidrec.data.dataset import Cases, Dataset
from sidrec.data.histories import Histories
from sidrec.models.item_objective import ItemNetwork, ItemObjective, bonus_before
from sidrec.models.item_scorer import ItemScorer, ItemScorerSettings
from sidrec.models.samples import Samples, right_aligned
from sidrec.nn.fourier_filter import FourierFilter
from sidrec.nn.item_losses import cross_entropy
from sidrec.nn.item_vectors import NOTHING_KNOWN, ItemFeatures


class FMLPRecSettings(ItemScorerSettings):
    """FMLP-Rec has no settings of its own: the filter has one weight per frequency and feature."""


class FilterBlock(nn.Module):
    """Filter, then feed-forward, each with residual and LayerNorm."""

    def __init__(self, settings: FMLPRecSettings) -> None:
        super().__init__()
        width = settings.d_model
        self.filter = FourierFilter(settings.max_history, width)
        self.dropout = nn.Dropout(settings.dropout)
        self.after_filter, self.after_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor, places: slice = slice(None)) -> Tensor:
        """The filter mixes all places; the rest is computed for the chosen ones only."""
        mixed = self.filter(x)[:, places]
        x = self.after_filter(x[:, places] + self.dropout(mixed))
        out: Tensor = self.after_mlp(x + self.dropout(self.mlp(x)))
        return out


class FMLPRecNetwork(ItemNetwork):
    """Sees the whole window at once, so its last place alone is a prediction."""

    def __init__(self, n_items: int, settings: FMLPRecSettings, features: ItemFeatures = NOTHING_KNOWN) -> None:
        super().__init__()
        self.length = settings.max_history
        self.items, self.repeat = settings.vectors(n_items, features), settings.repeat_term()
        self.positions = nn.Parameter(torch.randn(self.length, settings.d_model) * 0.02)
        self.items.initialise(0.05)
        self.norm, self.dropout = nn.LayerNorm(settings.d_model), nn.Dropout(settings.dropout)
        self.blocks = nn.ModuleList(FilterBlock(settings) for _ in range(settings.n_layers))

    def queries(self, histories: Tensor) -> Tensor:
        return self.last(F.pad(histories, (self.length - histories.shape[1], 0), value=-1))

    def last(self, items: Tensor) -> Tensor:
        """(rows, max_history), -1 where the window is empty, to the vector at the newest place."""
        x = self.items(items.clamp_min(0)) * (items >= 0).unsqueeze(-1)
        x = self.dropout(self.norm(x + self.positions))
        *earlier, last = self.blocks
        for block in earlier:
            x = block(x)
        newest: Tensor = last(x, slice(self.length - 1, self.length))[:, 0]
        return newest


class PrefixObjective(ItemObjective[FMLPRecNetwork]):
    """One target per sample: a filter over the window mixes all its places."""

    def count(self, lengths: Any) -> int:
        return len(lengths)

    def loss(self, network: FMLPRecNetwork, samples: Histories, noise: tuple[Tensor, ...]) -> Tensor:  # noqa: ARG002
        table = network.item_table()
        items = right_aligned(samples, self.max_history + 1).to(table.device)
        bonus = bonus_before(network, items)
        return cross_entropy(network.last(items[:, :-1]), table, items[:, -1], bonus=bonus)


class FMLPRec(ItemScorer):
    """Zhou et al., trained with full cross-entropy on every (history, next item)."""

    key = "fmlp-rec"
    settings_class: ClassVar[type[Settings]] = FMLPRecSettings
    settings: FMLPRecSettings

    def _build(self, n_items: int, features: ItemFeatures) -> FMLPRecNetwork:
        return FMLPRecNetwork(n_items, self.settings, features)

    def _objective(self, data: Dataset, validation: Cases, features: ItemFeatures) -> ItemObjective[Any]:  # noqa: ARG002
        samples = Samples.every_prefix(data.train_sequences(), self.settings.max_history)
        return PrefixObjective(samples, validation, self.settings.max_history)
