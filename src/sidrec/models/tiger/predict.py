"""From a trained T5 and histories of one length to the function the search asks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sidrec.decoding.left_to_right import LeftToRight
from sidrec.models.tiger.network import IdWriter
from sidrec.sids.vocabulary import Vocabulary


def make_predict(network: IdWriter, items: Tensor, users: Tensor) -> LeftToRight:
    """Histories (users, length), newest last, and the users' tokens; each history is read once, whatever the beams."""
    tokens = network.tokens_of(items.to(network.device), users.to(network.device))
    writing = _Writing(network, network.encode(tokens))
    return LeftToRight(writing.first(), writing.read)


class _Writing:
    """The decoder over a tree of codes: the library's layers and caches, given which keys each new token may see.

    Beams stand beside each other where T5 expects a sentence, so keys and values of the history are there once per
    user; positions count from the root of the tree, where the token stands that begins every ID.
    """

    def __init__(self, network: IdWriter, encoded: Tensor) -> None:
        from transformers import DynamicCache, EncoderDecoderCache

        self.network, self.encoded = network, encoded
        self.decoder: Any = network.t5.decoder
        self.cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        # (heads, places, places): what T5 adds to the attention of a place to an earlier one
        self.by_place: Tensor = self.decoder.block[0].layer[0].SelfAttention.compute_bias(*[network.n_codes] * 2)[0]
        self.places = torch.zeros(0, dtype=torch.long, device=encoded.device)

    def first(self) -> Tensor:
        """Log-probabilities of slot 0: (users, K)."""
        begin = torch.full((len(self.encoded), 1), Vocabulary.BOS, device=self.encoded.device)
        hidden = self._go_on(begin, 0, torch.ones_like(begin, dtype=torch.bool).unsqueeze(-1))
        return self.network.log_probs(hidden.squeeze(1), 0)

    def read(self, codes: Tensor, slot: int, sees: Tensor) -> Tensor:
        sees = torch.nn.functional.pad(sees, (1, 0), value=True)  # the root
        hidden = self._go_on(codes + self.network.offsets[slot], slot + 1, sees)
        return self.network.log_probs(hidden, slot + 1)

    def _go_on(self, tokens: Tensor, place: int, sees: Tensor) -> Tensor:
        """The last layer's vectors (users, n, d_model) of new tokens that all stand at one place of their IDs."""
        self.places = torch.cat([self.places, self.places.new_full((tokens.shape[1],), place)])
        bias = self.by_place[None, :, place, self.places].unsqueeze(2)  # (1, heads, 1, tokens so far)
        bias = bias.expand(-1, -1, tokens.shape[1], -1)
        hidden = self.network.t5.shared(tokens)
        mask = torch.zeros_like(sees, dtype=hidden.dtype).masked_fill(~sees, torch.finfo(hidden.dtype).min).unsqueeze(1)
        for block in self.decoder.block:
            hidden, _, _ = block(
                hidden,
                attention_mask=mask,
                position_bias=bias,
                encoder_hidden_states=self.encoded,
                past_key_values=self.cache,
            )
        found: Tensor = self.decoder.final_layer_norm(hidden)
        return found
