"""BERT4Rec: a bidirectional Transformer that fills in masked items; the next item is one more mask at the end."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sidrec.core.choices import Between, Space
from sidrec.core.settings import Settings
from sidrec.data.dataset import Cases, Dataset
from sidrec.data.histories import Histories
from sidrec.models.item_objective import ItemNetwork, ItemObjective
from sidrec.models.item_scorer import AttentionSettings, ItemScorer
from sidrec.models.samples import Samples, right_aligned
from sidrec.nn.item_losses import Bonus, cross_entropy
from sidrec.nn.item_vectors import NOTHING_KNOWN, ItemFeatures
from sidrec.nn.repeats import past_around
from sidrec.nn.transformer import INITIAL_STD, Transformer


class BERT4RecSettings(AttentionSettings):
    mask_ratio: float = Field(0.3, gt=0, le=1)
    """Probability with which each item of a cloze sample is masked."""
    last_only: float = Field(0.3, ge=0, le=1)
    """Share of samples that mask only their last item, as prediction does."""
    tuned: ClassVar[Space] = {
        **AttentionSettings.tuned,
        "mask_ratio": Between(0.1, 0.6),
        "last_only": Between(0.0, 0.6),
    }


class BERT4RecNetwork(ItemNetwork):
    """Every place sees every place; -1 is padding, `n_items` the mask."""

    def __init__(self, n_items: int, settings: BERT4RecSettings, features: ItemFeatures = NOTHING_KNOWN) -> None:
        super().__init__()
        width = settings.d_model
        self.mask = n_items
        self.items, self.repeat = settings.vectors(n_items, features, n_extra=1), settings.repeat_term()
        self.positions = nn.Embedding(settings.max_history + 1, width)  # counted from the newest place
        self.items.initialise(INITIAL_STD)
        nn.init.normal_(self.positions.weight, std=INITIAL_STD)
        self.dropout = nn.Dropout(settings.dropout)
        self.transformer = Transformer(settings.n_layers, width, settings.n_heads, 2 * width, settings.dropout)

    def hidden(self, items: Tensor, rows: slice | None = None) -> Tensor:
        """(rows, n) with the newest place last, to (rows, n, d_model) or the chosen places of it."""
        real = items >= 0
        ages = torch.arange(items.shape[1] - 1, -1, -1, device=items.device)
        x = self.dropout(self.items(items.clamp_min(0)) + self.positions(ages))
        visible = None if bool(real.all()) else real[:, None, None, :]
        out: Tensor = self.transformer(x, visible, rows=rows)
        return out

    def queries(self, histories: Tensor) -> Tensor:
        n = histories.shape[1]
        return self.hidden(F.pad(histories, (0, 1), value=self.mask), slice(n, n + 1))[:, 0]


class ClozeObjective(ItemObjective[BERT4RecNetwork]):
    """Cross-entropy on the masked items, summed within a sample."""

    def __init__(self, samples: Samples, validation: Cases, settings: BERT4RecSettings) -> None:
        super().__init__(samples, validation, settings.max_history)
        self.mask_ratio, self.last_only = settings.mask_ratio, settings.last_only

    def count(self, lengths: NDArray[Any]) -> int:
        return len(lengths)

    def draw(self, n_rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        return (
            torch.rand(n_rows, self.max_history + 1, generator=generator),
            torch.rand(n_rows, generator=generator),
        )

    def loss(self, network: BERT4RecNetwork, samples: Histories, noise: tuple[Tensor, ...]) -> Tensor:
        device = network.item_table().device
        items = right_aligned(samples).to(device)
        masked = cloze(items, noise[0].to(device), noise[1].to(device) < self.last_only, self.mask_ratio)
        hidden = network.hidden(items.masked_fill(masked, network.mask))
        bonus = None
        if network.repeat is not None:
            past = past_around(items.masked_fill(masked, -1), masked)
            bonus = Bonus(past.items, network.repeat.of_past(past))
        return cross_entropy(hidden[masked], network.item_table(), items[masked], bonus=bonus)


def cloze(items: Tensor, luck: Tensor, last_only: Tensor, ratio: float) -> Tensor:
    """Which places are masked: each real one with probability `ratio` and at least one; or the last one only."""
    n = items.shape[1]
    luck = luck[:, -n:].masked_fill(items < 0, 2.0)  # by age, which does not depend on how rows are grouped
    masked = (luck < ratio) | (luck == luck.amin(-1, keepdim=True))
    last = torch.arange(n, device=items.device) == n - 1
    return torch.where(last_only.unsqueeze(-1), last, masked)


class BERT4Rec(ItemScorer):
    """Sun et al."""

    key = "bert4rec"
    settings_class: ClassVar[type[Settings]] = BERT4RecSettings
    settings: BERT4RecSettings

    def _build(self, n_items: int, features: ItemFeatures) -> BERT4RecNetwork:
        return BERT4RecNetwork(n_items, self.settings, features)

    def _objective(self, data: Dataset, validation: Cases, features: ItemFeatures) -> ItemObjective[Any]:  # noqa: ARG002
        samples = Samples.windows(data.train_sequences(), self.settings.max_history)
        return ClozeObjective(samples, validation, self.settings)
