"""Multi-Head VQ-VAE (Sec. 4.1): the latent is cut into M slices, each quantised by a codebook of its own.

No code depends on another, so all are equally important: what a bidirectional model wants.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from sidrec.sids.base import TokenizerSettings
from sidrec.sids.vae_tokenizer import VAESettings, VAETokenizer


class MultiHeadVQVAESettings(VAESettings):
    """The paper's shape (4 codebooks of 256 codes) and loss."""

    code_width: int = Field(8, ge=1)
    """Numbers per code vector: the paper's latent of d = 32 cut into M = 4. The authors' code has 32 per code
    (`code_width=32`), which collides more; measured in docs/results/tokenizers.md."""


class MultiHeadVQVAE(VAETokenizer):
    """The paper's tokenizer."""

    key: ClassVar[str] = "multi-head-vqvae"
    settings_class: ClassVar[type[TokenizerSettings]] = MultiHeadVQVAESettings
    residual: ClassVar[bool] = False
