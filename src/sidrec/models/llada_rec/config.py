"""Everything that can be set about LLaDA-Rec, with the paper's symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sidrec.core.choices import Between, OneOf, Space
from sidrec.core.settings import Settings
from sidrec.models.id_search import SearchSettings
from sidrec.models.llada_rec.presets import PRESETS
from sidrec.models.sid_generator import SidGeneratorSettings
from sidrec.nn.positions import PositionKind
from sidrec.sids.tokenize import laid_over

AttentionPattern = Literal["bidirectional", "prefix", "causal", "inter-item-causal", "intra-item-causal"]


class MaskingSettings(Settings):
    """The two masks: the paper's form and the authors' form of each."""

    next_item: Literal["ratio", "exact-count"] = "exact-count"
    """`ratio`: each token with probability r, weight 1/r (paper). `exact-count`: n of M tokens, n uniform in 1..M,
    weight M/n (authors' code): the same expectation with less variance."""
    history_ratio: Literal["per-sequence", "per-item"] = "per-sequence"
    """`per-sequence`: one r for the whole history (paper). `per-item`: each item's from {0, 1/M, .., 1} (authors)."""
    history_input: Literal["history", "history-and-target"] = "history"
    """What the history loss masks and sees: the history alone (paper), or with the target behind it (authors)."""
    history_scale: Literal["sum", "positions"] = "positions"
    """`sum`: over all history tokens (paper). `positions`: divided by the number of item positions (authors)."""
    ratio_floor: float = Field(0.01, gt=0, lt=1)
    """Smallest r: below it 1/r has unbounded variance and almost nothing is masked."""


class LLaDASearch(SearchSettings):
    """The search's settings, and one that is the network's."""

    frozen_history: bool = False
    """Reuse the history's keys and values of the first pass also with `bidirectional` weights: an approximation."""


class LLaDARecSettings(SidGeneratorSettings):
    """Settings of the masked discrete-diffusion recommender.

    `preset = "paper"` among the values: what is not given stands at the paper's value, see docs/notation.md. Outside
    recipes it is `"auto"`: width, epochs and history that are not given are chosen by the data and the machine.
    """

    d_model: int = Field(256, ge=1)
    n_heads: int = Field(8, ge=1)
    n_layers: int = Field(4, ge=1)
    d_ff: int | None = Field(None, ge=1)
    """Width of the gated feed-forward part; None means 4 * d_model."""
    dropout: float = Field(0.1, ge=0, lt=1)
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Share of attention weights dropped in training (authors: 0.1; the paper does not name it)."""
    attention: AttentionPattern = "bidirectional"
    head: Literal["per-slot", "shared"] = "per-slot"
    """`per-slot`: each slot chooses among its own K codes. `shared`: one softmax over the whole vocabulary (paper)."""
    positions: PositionKind = "from-newest"
    """`from-newest`: slot, and item counted back from the target. `absolute`: places from the oldest item. `authors`:
    places of histories padded on the left, one vector per age and slot (the authors' code)."""
    logit_temperature: float = Field(1.0, gt=0)
    history_mask_weight: float = Field(3.0, ge=0)
    """Weight of the history loss (lambda, Eq. loss_total); 0 switches the loss off."""
    next_item_loss: bool = True
    """False leaves the history loss alone (training ablation)."""
    samples: Literal["every-prefix", "one-prefix", "one-pass"] = "every-prefix"
    """`every-prefix`: each (history, next item) pair of each user (paper). `one-prefix`: one random pair per user and
    epoch. `one-pass`: all targets of a user in one pass; needs inter-item-causal and positions that all targets share:
    `authors`, or `absolute`, whose places beyond the longest training history stay untrained."""
    masking: MaskingSettings = MaskingSettings()
    search: LLaDASearch = LLaDASearch()
    tuned: ClassVar[Space] = {
        **SidGeneratorSettings.tuned,
        "d_model": OneOf((64, 128, 256)),
        "n_layers": OneOf((2, 3, 4)),
        "history_mask_weight": Between(0.5, 5.0),
    }

    @model_validator(mode="before")
    @classmethod
    def _over_the_preset(cls, values: Any) -> Any:
        """A preset is a way of saying many settings at once and no setting itself: its values stay, its name goes."""
        if not (isinstance(values, Mapping) and "preset" in values):
            return values
        name, own = str(values["preset"]), {key: value for key, value in values.items() if key != "preset"}
        if name not in PRESETS:
            raise ValueError(f"preset {name!r} is not one; choose from: {', '.join(PRESETS)}")
        return laid_over(PRESETS[name], own)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.d_model % self.n_heads:
            raise ValueError(f"d_model {self.d_model} cannot be divided among {self.n_heads} heads")
        if not self.next_item_loss and self.history_mask_weight == 0:
            raise ValueError("both losses are switched off: keep next_item_loss or a history_mask_weight above 0")
        if self.samples == "one-pass" and self.attention != "inter-item-causal":
            raise ValueError(
                "samples = one-pass needs attention = inter-item-causal: only there do targets share a history"
            )
        if self.samples == "one-pass" and self.positions == "from-newest":
            raise ValueError(
                "samples = one-pass needs positions = authors (or absolute): one position per item for all its targets"
            )
        if self.samples == "one-pass" and self.masking.history_input != "history":
            raise ValueError("samples = one-pass needs masking.history_input = history")
        return self
