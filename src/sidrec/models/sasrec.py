"""SASRec: a causal Transformer over the history; `sasrec` as published, `sasrec-ce` with the full softmax."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, cast

import torch
from torch import Tensor, nn

from sidrec.core.settings import Settings
from sidrec.data.dataset import Cases, Dataset
from sidrec.models.item_objective import CausalNetwork, ItemObjective, NextItemObjective, Places
from sidrec.models.item_scorer import AttentionSettings, ItemScorer
from sidrec.models.registry import find_model
from sidrec.models.samples import Samples
from sidrec.nn.item_losses import binary_cross_entropy
from sidrec.nn.item_vectors import NOTHING_KNOWN, ItemFeatures
from sidrec.nn.transformer import INITIAL_STD, Transformer


class SASRecSettings(AttentionSettings):
    loss: Literal["bce", "cross-entropy"] = "bce"
    """`bce` against one uniform negative per position (as published), or `cross-entropy` over the full catalogue."""


class SASRecNetwork(CausalNetwork):
    """Item vectors plus learned positions through causal blocks."""

    def __init__(self, n_items: int, settings: SASRecSettings, features: ItemFeatures = NOTHING_KNOWN) -> None:
        super().__init__()
        width = settings.d_model
        self.items, self.repeat = settings.vectors(n_items, features), settings.repeat_term()
        self.positions = nn.Embedding(settings.max_history, width)  # counted from the oldest item
        self.items.initialise(INITIAL_STD)
        nn.init.normal_(self.positions.weight, std=INITIAL_STD)
        self.dropout = nn.Dropout(settings.dropout)
        self.transformer = Transformer(settings.n_layers, width, settings.n_heads, 2 * width, settings.dropout)

    def hidden(self, items: Tensor) -> Tensor:
        out: Tensor = self.transformer(self._enter(items), is_causal=True)
        return out

    def queries(self, histories: Tensor) -> Tensor:
        n = histories.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool, device=histories.device).tril()
        out: Tensor = self.transformer(self._enter(histories), causal, rows=slice(n - 1, n))
        return out[:, 0]

    def _enter(self, items: Tensor) -> Tensor:
        x: Tensor = self.dropout(self.items(items) + self.positions.weight[: items.shape[1]])
        return x


class BinaryObjective(NextItemObjective[SASRecNetwork]):
    """Each target against one item drawn uniformly for its position."""

    def __init__(self, samples: Samples, validation: Cases, max_history: int, n_items: int) -> None:
        super().__init__(samples, validation, max_history)
        self.n_items = n_items

    def draw(self, n_rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        return (torch.randint(self.n_items, (n_rows, self.max_history), generator=generator),)

    def place_loss(self, network: SASRecNetwork, places: Places) -> Tensor:
        targets, negatives = places.targets, places.noise[0]
        bonus = places.bonus_of(network, torch.stack([targets, negatives], 1))
        return binary_cross_entropy(places.hidden, network.item_table(), targets, negatives, bonus)


class SASRec(ItemScorer):
    """Kang and McAuley, with the loss as published."""

    key = "sasrec"
    settings_class: ClassVar[type[Settings]] = SASRecSettings
    settings: SASRecSettings

    def _build(self, n_items: int, features: ItemFeatures) -> SASRecNetwork:
        return SASRecNetwork(n_items, self.settings, features)

    def _objective(self, data: Dataset, validation: Cases, features: ItemFeatures) -> ItemObjective[Any]:  # noqa: ARG002
        samples = Samples.windows(data.train_sequences(), self.settings.max_history)
        if self.settings.loss == "cross-entropy":
            return NextItemObjective[SASRecNetwork](samples, validation, self.settings.max_history)
        return BinaryObjective(samples, validation, self.settings.max_history, data.n_items)


def SASRecSoftmax(**values: Any) -> SASRec:  # noqa: N802
    """The row `sasrec-ce`: the same network with the loss that strong libraries use."""
    return cast(SASRec, find_model("sasrec-ce").make(**values))
