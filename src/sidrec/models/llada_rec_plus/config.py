"""Everything that can be set about LLaDA-Rec Plus; each part can be switched off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sidrec.core.choices import Between, OneOf, Space
from sidrec.data.histories import MOST_HISTORY
from sidrec.models.item_features import ItemVectorSettings
from sidrec.models.item_scorer import AttentionSettings, ItemTraining
from sidrec.nn.history_encoders import EncoderKind
from sidrec.nn.repeats import RepeatKind

FULL_SOFTMAX_UP_TO = 200_000
"""Items up to which `softmax = "auto"` takes the whole catalogue: beyond, a step costs more than a sample is worth."""


class PlusTraining(ItemTraining):
    """Few epochs with much dropout: item vectors that share codes and text learn fast, given enough steps."""

    epochs: int = Field(default=20, ge=1)
    learning_rate: float = Field(default=2.75e-3, gt=0)
    weight_decay: float = Field(default=0.1, ge=0)
    min_steps: int = Field(default=32, ge=1)


class LLaDARecPlusSettings(AttentionSettings):
    """Settings of catalogue-exact masked diffusion."""

    d_model: int = Field(128, ge=1)
    n_layers: int = Field(1, ge=1)
    dropout: float = Field(0.5, ge=0, lt=1)
    max_history: int = Field(50, ge=1, le=MOST_HISTORY)
    encoder: EncoderKind = "attention"
    """What reads the history: causal attention, linear recurrent units, a GRU, or learned filters over time."""
    positions: Literal["absolute", "relative"] = "relative"
    """How attention tells places apart: what each head adds to a score by how far apart two places are, or a vector for
    every place, counted from the oldest item, as in sasrec. The other encoders know the order by themselves."""
    item_vectors: ItemVectorSettings = ItemVectorSettings(codes=True, text=True)
    repeat: RepeatKind = "once"
    target_row: bool = False
    """The target has a row of its own: what is visible of it, [MASK] for the rest, and the last item. Without it (or
    without codes) the history's last row speaks, as in sasrec, which validation prefers by a little."""
    partly_hidden_weight: float = Field(0.0, ge=0)
    """Weight of the loss with some codes visible (w), for example .2; needs `target_row`. An exact softmax over the
    catalogue holds every conditional already, so on average it adds cost and no accuracy; 0 trains with everything
    hidden only."""
    softmax: Literal["auto", "full", "sampled"] = "auto"
    """Over the whole catalogue, or over a sample of it with importance weights; `auto` samples very large ones."""
    n_negatives: int = Field(4096, ge=1)
    """Items drawn for each step (`sampled`)."""
    validation_users: int = Field(5000, ge=1)
    """Size of the fixed random sample of users on which the best epoch is chosen."""
    training: PlusTraining = Field(default_factory=PlusTraining)
    before: ClassVar[Mapping[str, Any]] = {"positions": "absolute"}
    tuned: ClassVar[Space] = {
        **AttentionSettings.tuned,
        "item_vectors.identity_dropout": Between(0.0, 0.4),
        "repeat": OneOf(("once", "by-age")),
    }

    @model_validator(mode="after")
    def _noise_has_a_row(self) -> Self:
        if self.partly_hidden_weight > 0 and not self.target_row:
            raise ValueError("partly_hidden_weight shows codes in the target's row: set target_row = true")
        return self

    def samples_softmax(self, n_items: int) -> bool:
        return self.softmax == "sampled" or (self.softmax == "auto" and n_items > FULL_SOFTMAX_UP_TO)
