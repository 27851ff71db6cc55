"""From a language model and histories of one length to the function the search asks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from sidrec.decoding.left_to_right import LeftToRight
from sidrec.models.lcrec.network import IdSpeaker


def make_predict(network: IdSpeaker, opening: list[int], items: Tensor) -> LeftToRight:
    """The opening words, then histories (users, length), newest last; each history is read once."""
    items = items.to(network.device)
    words = torch.tensor(opening, device=network.device).expand(len(items), -1)
    speaking = _Speaking(network, torch.cat([words, network.id_tokens(items).flatten(1)], 1))
    return LeftToRight(speaking.first, speaking.read)


class _Speaking:
    """The library's layers and cache over a tree of codes: beams stand beside each other behind one history."""

    def __init__(self, network: IdSpeaker, tokens: Tensor) -> None:
        from transformers import DynamicCache

        self.network, self.length, self.cache = network, tokens.shape[1], DynamicCache()
        places = torch.arange(self.length, device=tokens.device).expand(len(tokens), -1)
        hidden = network.hidden(tokens, past_key_values=self.cache, position_ids=places)
        self.first = network.log_probs(hidden[:, -1], 0)

    def read(self, codes: Tensor, slot: int, sees: Tensor) -> Tensor:
        tokens = codes + self.network.n_words + self.network.offsets[slot]
        sees = F.pad(sees, (self.length, 0), value=True).unsqueeze(1)  # (users, 1, n, history and codes)
        lowest = torch.finfo(self.network.codes.weight.dtype).min
        mask = torch.zeros_like(sees, dtype=self.network.codes.weight.dtype).masked_fill(~sees, lowest)
        places = torch.full_like(tokens, self.length + slot)
        hidden = self.network.hidden(tokens, past_key_values=self.cache, attention_mask=mask, position_ids=places)
        return self.network.log_probs(hidden, slot + 1)
