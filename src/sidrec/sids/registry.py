"""Tokenizer names become classes through one literal table."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass

from sidrec.core.errors import SettingsError
from sidrec.sids.base import Tokenizer


@dataclass(frozen=True)
class TokenizerRow:
    """One row of the table."""

    key: str
    module: str
    name: str
    summary: str

    def load_class(self) -> type[Tokenizer]:
        found: type[Tokenizer] = getattr(importlib.import_module(self.module), self.name)
        return found


TOKENIZERS: tuple[TokenizerRow, ...] = (
    TokenizerRow(
        "multi-head-vqvae", "sidrec.sids.multi_head_vqvae", "MultiHeadVQVAE", "parallel codes of a latent cut in slices"
    ),
    TokenizerRow("rq-vae", "sidrec.sids.rq_vae", "RQVAE", "residual codes of a latent, coarse to fine"),
    TokenizerRow("opq", "sidrec.sids.opq", "OPQ", "a rotation, then k-means per slice"),
    TokenizerRow("rq-kmeans", "sidrec.sids.rq_kmeans", "RQKMeans", "k-means, then k-means on what is left"),
)


def find_tokenizer(key: str) -> TokenizerRow:
    """The row of a key; an unknown key is an error with the nearest name."""
    for row in TOKENIZERS:
        if row.key == key:
            return row
    names = [row.key for row in TOKENIZERS]
    near = difflib.get_close_matches(key, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known tokenizers: {', '.join(names)}."
    raise SettingsError(f"{key!r} is not a tokenizer; {hint}")
