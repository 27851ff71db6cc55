"""Tokenizer names become classes through one literal table."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import Any

from sidrec.core.errors import SettingsError
from sidrec.core.registry import Registry, first_line
from sidrec.sids.base import Tokenizer


@dataclass(frozen=True)
class TokenizerRow:
    """One row of the table."""

    key: str
    module: str
    name: str
    summary: str

    own_class: type[Tokenizer] | None = None
    """The class itself, where it was registered and need not be found."""

    @property
    def place(self) -> tuple[str, str]:
        return self.module, self.name

    def load_class(self) -> type[Tokenizer]:
        if self.own_class is not None:
            return self.own_class
        found: type[Tokenizer] = getattr(importlib.import_module(self.module), self.name)
        return found


TOKENIZERS: tuple[TokenizerRow, ...] = (
    TokenizerRow(
        "multi-head-vqvae", "sidrec.sids.multi_head_vqvae", "MultiHeadVQVAE", "parallel codes of a latent cut in slices"
    ),
    TokenizerRow("rq-vae", "sidrec.sids.rq_vae", "RQVAE", "residual codes of a latent, coarse to fine"),
    TokenizerRow("letter", "sidrec.sids.letter", "Letter", "residual codes that also know behaviour and stay diverse"),
    TokenizerRow("opq", "sidrec.sids.opq", "OPQ", "a rotation, then k-means per slice"),
    TokenizerRow("rq-kmeans", "sidrec.sids.rq_kmeans", "RQKMeans", "k-means, then k-means on what is left"),
)


def row_of(key: str, found: Any) -> TokenizerRow:
    """What an entry point leads to, a row or a class, as a row."""
    if isinstance(found, TokenizerRow):
        return replace(found, key=key)
    if not (isinstance(found, type) and issubclass(found, Tokenizer)):
        raise SettingsError(f"{found!r} is not a class of tokenizers: it must inherit from Tokenizer.")
    return TokenizerRow(key, found.__module__, found.__qualname__, first_line(found), found)


REGISTRY = Registry[TokenizerRow]("tokenizer", "sidrec.tokenizers", lambda: TOKENIZERS, row_of)


def find_tokenizer(key: str) -> TokenizerRow:
    """The row of a key; an unknown key is an error with the nearest name."""
    return REGISTRY.find(key)
