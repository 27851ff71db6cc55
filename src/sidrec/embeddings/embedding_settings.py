"""How item vectors are made: from text by an encoder, from a file, or by another model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from sidrec.core.settings import RUN, Settings
from sidrec.embeddings.encoders import GIVEN


class EmbeddingSettings(Settings):
    encoder: str = "minilm"
    """minilm, sentence-t5-base, tfidf, given, any sentence-transformers name, or the path of a local model."""
    fields: tuple[str, ...] | None = None
    """Catalogue fields to read; default every text field, title first."""
    pca: int | None = Field(default=None, ge=1)
    """Keep this many principal axes."""
    whiten: bool = False
    """Scale the principal axes to unit variance."""
    missing: Literal["mean", "zero", "error"] = "mean"
    """What an item without text gets: the mean of the others, zeros, or a refusal."""
    max_tokens: int | None = Field(default=None, ge=8)
    """Read at most this many tokens of a text; default the model's own limit."""
    vectors: Path | None = None
    """File of your own vectors, instead of an encoder."""
    from_model: str | None = None
    """Take the item vectors of a model instead: its key (it is trained first), or the directory of a trained one."""
    model_settings: Mapping[str, Any] = {}
    """Settings of the model that is trained first."""
    batch_size: Annotated[int | None, RUN] = Field(default=None, ge=1)
    """Texts per batch; default 16 on a processor, 128 on an accelerator."""
    device: Annotated[str | None, RUN] = None
    """cpu, cuda, mps; default the fastest there is."""

    @model_validator(mode="before")
    @classmethod
    def _vectors_need_no_encoder(cls, values: Any) -> Any:
        named = isinstance(values, Mapping) and "encoder" not in values
        return {**values, "encoder": GIVEN} if named and (values.get("vectors") or values.get("from_model")) else values

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.whiten and self.pca is None:
            raise ValueError("whiten scales principal axes, so it needs pca, for example pca = 128")
        if self.vectors is not None and self.encoder != GIVEN:
            raise ValueError(f"vectors come instead of an encoder, so encoder must be {GIVEN!r}")
        if self.from_model is not None and (self.encoder != GIVEN or self.vectors is not None):
            raise ValueError("from_model comes instead of encoder and vectors; give only one of them")
        if self.model_settings and self.from_model is None:
            raise ValueError("model_settings are those of from_model, which is not given")
        if self.encoder == GIVEN and self.fields:
            raise ValueError("fields choose the text to read, but the vectors are given")
        if self.max_tokens is not None and self.encoder in (GIVEN, "tfidf"):
            raise ValueError(f"max_tokens has no meaning for {self.encoder}")
        return self
