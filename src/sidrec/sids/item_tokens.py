"""The codes of a catalogue's items as a network holds them, and THE way from codes to tokens."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.vocabulary import Vocabulary

MASKED, PADDING = -1, -2
"""Codes that are none: a slot nobody has filled or may see, and a slot of the padding item."""


class ItemTokens(nn.Module):
    """Items to codes to tokens. The table is the catalogue's, not learned: it is in no state dict."""

    codes: Tensor  # (n_items + 1, n_codes) int32; the last row is the padding item's
    offsets: Tensor

    def __init__(self, codes: NDArray[np.integer], codebook_sizes: Sequence[int]) -> None:
        super().__init__()
        vocabulary = Vocabulary(tuple(codebook_sizes))
        table = np.full((len(codes) + 1, vocabulary.n_codes), PADDING, dtype=np.int32)
        table[:-1] = codes
        self.register_buffer("codes", torch.from_numpy(table), persistent=False)
        self.register_buffer("offsets", torch.from_numpy(vocabulary.offsets), persistent=False)

    def codes_of(self, items: Tensor) -> Tensor:
        """int64 (..., n_codes); item -1 is padding."""
        return self.codes[items].long()

    def tokens_of(self, codes: Tensor) -> Tensor:
        """Vocabulary tokens of codes (..., n_codes); MASKED becomes [MASK], PADDING [PAD]."""
        tokens = (codes + self.offsets).masked_fill(codes == MASKED, Vocabulary.MASK)
        return tokens.masked_fill(codes == PADDING, Vocabulary.PAD)


_Network = TypeVar("_Network", bound=nn.Module)


def over_items(network: _Network, ids: SemanticIds) -> _Network:
    """The same weights, shared, for a catalogue that has changed; the network itself keeps its own `item_tokens`."""
    other, device = copy.copy(network), next(network.parameters()).device
    other._modules = {**network._modules, "item_tokens": ItemTokens(ids.codes, ids.codebook_sizes).to(device)}
    return other
