"""LRURec: linear recurrent units, scanned in parallel in training and moved one item at a time in serving."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field
from torch import Tensor, nn

from sidrec.core.choices import Between, OneOf, Space
from sidrec.core.settings import Settings
from sidrec.data.dataset import Cases, Dataset
from sidrec.models.item_objective import CausalNetwork, ItemObjective, NextItemObjective
from sidrec.models.item_scorer import ItemScorer, ItemScorerSettings
from sidrec.models.samples import Samples
from sidrec.nn.item_vectors import NOTHING_KNOWN, ItemFeatures
from sidrec.nn.linear_recurrence import LRUBlock


class LRURecSettings(ItemScorerSettings):
    state_factor: int = Field(2, ge=1)
    """Complex state dimensions per model dimension."""
    min_modulus: float = Field(0.8, ge=0, lt=1)
    """Smallest starting modulus of the recurrence's eigenvalues: how fast the fastest state forgets."""
    max_modulus: float = Field(0.99, gt=0, lt=1)
    """Largest starting modulus."""
    tuned: ClassVar[Space] = {
        **ItemScorerSettings.tuned,
        "state_factor": OneOf((1, 2, 4)),
        "min_modulus": Between(0.5, 0.9),
    }

    @property
    def moduli(self) -> tuple[float, float]:
        return self.min_modulus, self.max_modulus


class LRURecNetwork(CausalNetwork):
    def __init__(self, n_items: int, settings: LRURecSettings, features: ItemFeatures = NOTHING_KNOWN) -> None:
        super().__init__()
        self.items, self.repeat = settings.vectors(n_items, features), settings.repeat_term()
        self.items.initialise(0.05)
        self.norm, self.dropout = nn.LayerNorm(settings.d_model), nn.Dropout(settings.dropout)
        self.blocks = nn.ModuleList(
            LRUBlock(settings.d_model, settings.dropout, settings.state_factor, settings.moduli)
            for _ in range(settings.n_layers)
        )

    def hidden(self, items: Tensor) -> Tensor:
        x = self.enter(items)
        for block in self.blocks:
            x = block(x)
        return x

    def enter(self, items: Tensor) -> Tensor:
        x: Tensor = self.dropout(self.norm(self.items(items)))
        return x

    def queries(self, histories: Tensor) -> Tensor:
        """Item by item, as a server that keeps the users' states would: cost per item is constant."""
        states = self.start(len(histories))
        for column in histories.unbind(1):
            states, out = self.step(states, column)
        return out

    def start(self, rows: int) -> list[Tensor]:
        """The states of users who have seen nothing."""
        return [block.recurrence.start(rows) for block in self._blocks()]

    def step(self, states: list[Tensor], items: Tensor) -> tuple[list[Tensor], Tensor]:
        """The states after one more item (rows,) each, and the users' vectors."""
        x, moved = self.enter(items), []
        for block, state in zip(self._blocks(), states, strict=True):
            state, x = block.step(state, x)
            moved.append(state)
        return moved, x

    def _blocks(self) -> list[LRUBlock]:
        return [block for block in self.blocks if isinstance(block, LRUBlock)]


class LRURec(ItemScorer):
    """Yue et al.; full cross-entropy at every position."""

    key = "lrurec"
    settings_class: ClassVar[type[Settings]] = LRURecSettings
    settings: LRURecSettings

    def _build(self, n_items: int, features: ItemFeatures) -> LRURecNetwork:
        return LRURecNetwork(n_items, self.settings, features)

    def _objective(self, data: Dataset, validation: Cases, features: ItemFeatures) -> ItemObjective[Any]:  # noqa: ARG002
        samples = Samples.windows(data.train_sequences(), self.settings.max_history)
        return NextItemObjective[LRURecNetwork](samples, validation, self.settings.max_history)
