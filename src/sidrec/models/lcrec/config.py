"""Everything that can be set about LC-Rec."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from sidrec.core.choices import OneOf, Space
from sidrec.core.settings import Settings
from sidrec.models.id_search import LeftToRightSearch
from sidrec.models.sid_generator import SidGeneratorSettings
from sidrec.sids.tokenize import TokenizeSettings

ItemTask = Literal["id-to-title", "title-to-id", "intention-to-id"]
HistoryTask = Literal["titles-to-id", "ids-to-title"]


class LoraSettings(Settings):
    """The adapter that is trained beside a language model named by `base`."""

    rank: int = Field(8, ge=1)
    alpha: float = Field(16.0, gt=0)
    dropout: float = Field(0.05, ge=0, lt=1)


class LCRecSettings(SidGeneratorSettings):
    """Settings of the causal language model that speaks IDs."""

    base: Path | None = None
    """Directory of a Hugging Face causal language model (safetensors and tokenizer.json), tuned with LoRA. None: a
    small Llama-shaped one started at random, with a tokenizer trained on the catalogue."""
    lora: LoraSettings = LoraSettings()
    d_model: int = Field(128, ge=1)
    """Of the small model, as are heads, layers, d_ff and n_words; a named one has its own."""
    n_heads: int = Field(4, ge=1)
    n_layers: int = Field(2, ge=1)
    d_ff: int = Field(256, ge=1)
    n_words: int = Field(4000, ge=300)
    """Most tokens of text that the tokenizer learns from the catalogue."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """On what goes into the language model and what comes out."""
    item_tasks: tuple[ItemTask, ...] = ("id-to-title", "title-to-id", "intention-to-id")
    """Tasks about single items, beside the next item; every item is asked about by one of them in every epoch."""
    history_tasks: tuple[HistoryTask, ...] = ("titles-to-id", "ids-to-title")
    """Tasks that mix IDs and titles in a history; one of them for every user in every epoch."""
    text_tokens: int = Field(16, ge=1)
    """A title or an intention is cut to so many tokens."""
    told_titles: int = Field(5, ge=1)
    """Newest titles of a history that is told in titles."""
    search: LeftToRightSearch = LeftToRightSearch()
    tokenize: TokenizeSettings = TokenizeSettings(
        tokenizer="rq-vae", collisions="sinkhorn", options={"n_codes": 4, "codebook_size": 256}
    )
    tuned: ClassVar[Space] = {
        **SidGeneratorSettings.tuned,
        "d_model": OneOf((64, 128, 256)),
        "n_layers": OneOf((2, 4)),
        "d_ff": OneOf((256, 512)),
    }

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Self:
        if self.d_model % (2 * self.n_heads):
            raise ValueError(f"d_model {self.d_model} must be an even multiple of n_heads {self.n_heads}")
        return self
