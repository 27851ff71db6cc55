"""Everything that can be set about TIGER and the rows that write IDs as it does."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from sidrec.core.choices import OneOf, Space
from sidrec.models.id_search import LeftToRightSearch
from sidrec.models.sid_generator import SidGeneratorSettings
from sidrec.sids.tokenize import TokenizeSettings


class TigerSettings(SidGeneratorSettings):
    """Settings of the encoder-decoder; the widths are the published ones."""

    d_model: int = Field(128, ge=1)
    n_heads: int = Field(6, ge=1)
    d_head: int = Field(64, ge=1)
    """Numbers per attention head; need not add up to d_model."""
    n_layers: int = Field(4, ge=1)
    """Layers of the encoder, and as many of the decoder."""
    d_ff: int = Field(1024, ge=1)
    dropout: float = Field(0.1, ge=0, lt=1)
    user_buckets: int = Field(2000, ge=1)
    """User ids are hashed into so many tokens, which stand before the history."""
    nobody_rate: float = Field(0.1, ge=0, le=1)
    """Share of training samples whose user is hidden, so that requests without a user id find a trained token."""
    ranking_temperature: float = Field(1.0, gt=0)
    """Logits are divided by it (tau, LETTER's ranking-guided loss): below 1 the likeliest wrong codes are pressed
    down hardest. 1 is plain cross-entropy."""
    search: LeftToRightSearch = LeftToRightSearch()
    tokenize: TokenizeSettings = TokenizeSettings(
        tokenizer="rq-vae", collisions="extra-code", options={"n_codes": 3, "codebook_size": 256}
    )
    tuned: ClassVar[Space] = {
        **SidGeneratorSettings.tuned,
        "d_model": OneOf((64, 128, 256)),
        "n_layers": OneOf((2, 4)),
        "d_ff": OneOf((256, 512, 1024)),
    }
