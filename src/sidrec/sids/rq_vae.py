"""RQ-VAE (TIGER's tokenizer): the first code quantises the latent, each further one what is left of it."""

from __future__ import annotations

from typing import ClassVar

from sidrec.sids.base import TokenizerSettings
from sidrec.sids.vae_tokenizer import VAESettings, VAETokenizer


class RQVAESettings(VAESettings):
    """The same settings as the Multi-Head VQ-VAE's; the latent is one code wide."""


class RQVAE(VAETokenizer):
    """Codes from coarse to fine, as TIGER, LETTER and LC-Rec use them."""

    key: ClassVar[str] = "rq-vae"
    settings_class: ClassVar[type[TokenizerSettings]] = RQVAESettings
    residual: ClassVar[bool] = True
