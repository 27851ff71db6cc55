"""VQ-Rec: items are pooled embeddings of their codes, so whatever has a text has a vector."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch.nn import functional as F

from sidrec.core.choices import Between, Space
from sidrec.core.progress import Progress
from sidrec.core.settings import Settings
from sidrec.data.dataset import Cases, Dataset
from sidrec.models.causal_transformer import CausalTransformer
from sidrec.models.coded_scorer import CodedScorer
from sidrec.models.item_features import ItemVectorSettings
from sidrec.models.item_objective import ItemNetwork, ItemObjective, NextItemObjective, Places
from sidrec.models.item_scorer import AttentionSettings
from sidrec.models.samples import Samples
from sidrec.nn.item_losses import contrastive_loss
from sidrec.nn.item_vectors import NOTHING_KNOWN, ItemFeatures, ItemVectors
from sidrec.sids.tokenize import TokenizeSettings
from sidrec.training.loop import train
from sidrec.training.options import TrainingOptions


class PretrainingSettings(Settings):
    """A contrastive training before the training proper; its negatives are half made up."""

    epochs: int = Field(0, ge=0)
    """0 leaves it out."""
    replaced: float = Field(0.75, gt=0, le=1)
    """Probability with which a semi-synthetic negative has another code than the real item in a digit."""


class VQRecSettings(AttentionSettings):
    """Settings of VQ-Rec."""

    d_model: int = Field(128, ge=1)
    item_vectors: ItemVectorSettings = ItemVectorSettings(identity=False, codes=True)
    tokenize: TokenizeSettings = TokenizeSettings(tokenizer="opq", options={"n_codes": 32})
    temperature: float = Field(0.07, gt=0)
    """Scores are cosines divided by it."""
    loss: Literal["cross-entropy", "contrastive"] = "cross-entropy"
    """`cross-entropy` over the full catalogue, or `contrastive` against the other targets of the same pass."""
    pretraining: PretrainingSettings = PretrainingSettings()
    tuned: ClassVar[Space] = {
        **AttentionSettings.tuned,
        "temperature": Between(0.03, 0.2, log=True),
    }

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.item_vectors.codes:
            raise ValueError("item_vectors.codes is off, and codes are what vq-rec knows its items by; leave it on")
        if self.loss == "contrastive" and self.repeat != "off":
            raise ValueError("repeat needs loss = cross-entropy: the contrastive loss does not train it")
        return self


class VQRecNetwork(CausalTransformer):
    """Users and items on the unit sphere."""

    def __init__(self, n_items: int, settings: VQRecSettings, features: ItemFeatures = NOTHING_KNOWN) -> None:
        super().__init__(n_items, settings, features)
        self.temperature = settings.temperature

    def hidden(self, items: Tensor) -> Tensor:
        return F.normalize(super().hidden(items), dim=-1) / self.temperature

    def queries(self, histories: Tensor) -> Tensor:
        return F.normalize(super().queries(histories), dim=-1) / self.temperature

    def item_table(self) -> Tensor:
        return F.normalize(super().item_table(), dim=-1)


class ContrastiveObjective(NextItemObjective[VQRecNetwork]):
    """Each target against the others of its pass."""

    def place_loss(self, network: VQRecNetwork, places: Places) -> Tensor:
        return contrastive_loss(places.hidden, _targets(network, places), places.targets)


class SemiSyntheticObjective(NextItemObjective[VQRecNetwork]):
    """Each target against the others of its pass, and against items that exist in some digits only."""

    def __init__(self, samples: Samples, validation: Cases, settings: VQRecSettings, n_slots: int) -> None:
        super().__init__(samples, validation, settings.max_history)
        self.replaced, self.n_slots = settings.pretraining.replaced, n_slots

    def draw(self, n_rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        shape = (n_rows, self.max_history, self.n_slots)
        return torch.rand(shape, generator=generator), torch.rand(shape, generator=generator)

    def place_loss(self, network: VQRecNetwork, places: Places) -> Tensor:
        luck, which = places.noise
        made_up = semi_synthetic(network.items, places.targets, luck < self.replaced, which)
        others = F.normalize(network.items.token_vectors(made_up).sum(-2), dim=-1)
        return contrastive_loss(places.hidden, _targets(network, places), places.targets, others)


def semi_synthetic(items: ItemVectors, targets: Tensor, replaced: Tensor, which: Tensor) -> Tensor:
    """Tokens (places, n_slots) of the targets, other codes of the same slot where `replaced`; `which` is in 0..1."""
    sizes = torch.tensor(items.slot_sizes, device=targets.device)
    first = 1 + sizes.cumsum(0) - sizes
    return torch.where(replaced, first + (which * sizes).long(), items.tokens_of(targets))


def _targets(network: VQRecNetwork, places: Places) -> Tensor:
    return F.normalize(network.items(places.targets), dim=-1)


class VQRec(CodedScorer):
    """Hou et al.: vector-quantised item representations."""

    key = "vq-rec"
    settings_class: ClassVar[type[Settings]] = VQRecSettings
    settings: VQRecSettings

    def _build(self, n_items: int, features: ItemFeatures) -> VQRecNetwork:
        return VQRecNetwork(n_items, self.settings, features)

    def _objective(self, data: Dataset, validation: Cases, features: ItemFeatures) -> ItemObjective[Any]:  # noqa: ARG002
        samples = Samples.windows(data.train_sequences(), self.settings.max_history)
        kind = NextItemObjective[VQRecNetwork] if self.settings.loss == "cross-entropy" else ContrastiveObjective
        return kind(samples, validation, self.settings.max_history)

    def _trained_before(
        self, network: ItemNetwork, data: Dataset, workdir: Path | None, progress: Progress
    ) -> TrainingOptions:
        options, first = self.settings.training, self.settings.pretraining
        slots = cast(VQRecNetwork, network).items.n_slots
        if not first.epochs or not slots or self._earlier is not None or self._start is not None:
            return options
        samples = Samples.windows(data.train_sequences(), self.settings.max_history)
        objective = SemiSyntheticObjective(samples, self._validation_sample(data), self.settings, slots)
        apart = options.model_copy(update={"epochs": first.epochs, "metric": None, "patience": None})
        folder = None if workdir is None else workdir / "pretraining"
        used = train(network, objective, apart, workdir=folder, progress=progress, name=f"{self.key} pre-training")
        left = None if options.minutes is None else max(options.minutes - used.seconds / 60, 0.01)
        return options.model_copy(update={"minutes": left})
