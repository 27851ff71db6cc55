"""Multi-Head VQ-VAE (Sec. 4.1): the latent is cut into M slices, each quantised by a codebook of its own.

No code depends on another, so all are equally important: what a bidirectional model wants.
"""

from __future__ import annotations

from typing import ClassVar

from sidrec.sids.base import TokenizerSettings
from sidrec.sids.vae_tokenizer import VAESettings, VAETokenizer


class MultiHeadVQVAESettings(VAESettings):
    """The paper's settings: 4 codebooks of 256 codes of width 32."""


class MultiHeadVQVAE(VAETokenizer):
    """The paper's tokenizer."""

    key: ClassVar[str] = "multi-head-vqvae"
    settings_class: ClassVar[type[TokenizerSettings]] = MultiHeadVQVAESettings
    residual: ClassVar[bool] = False
