"""SASRec: a causal Transformer over the history; `sasrec` as published, `sasrec-ce` with the full softmax."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, cast

import torch
from torch import Tensor

from sidrec.core.settings import Settings
from sidrec.data.dataset import Cases, Dataset
from sidrec.models.causal_transformer import CausalTransformer
from sidrec.models.item_objective import ItemObjective, NextItemObjective, Places
from sidrec.models.item_scorer import AttentionSettings, ItemScorer
from sidrec.models.registry import find_model
from sidrec.models.samples import Samples
from sidrec.nn.item_losses import binary_cross_entropy
from sidrec.nn.item_vectors import ItemFeatures


class SASRecSettings(AttentionSettings):
    loss: Literal["bce", "cross-entropy"] = "bce"
    """`bce` against one uniform negative per position (as published), or `cross-entropy` over the full catalogue."""


class SASRecNetwork(CausalTransformer):
    """The causal Transformer as it is."""


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
