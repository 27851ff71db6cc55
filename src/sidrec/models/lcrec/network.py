"""A language model with a second vocabulary: words as it knows them, and the codes of IDs, which it learns."""

from __future__ import annotations

from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sidrec.sids.item_tokens import ItemTokens, over_items
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.vocabulary import Vocabulary


class IdSpeaker(nn.Module):
    """P(token | tokens before it). Tokens: the language model's own, then those of the IDs; among these [BOS] begins
    every sequence, and [MASK], which nothing here masks, ends a text."""

    def __init__(self, ids: SemanticIds, lm: Any, dropout: float) -> None:
        super().__init__()
        vocabulary = ids.vocabulary
        self.sizes, self.offsets = ids.codebook_sizes, vocabulary.offsets.tolist()
        self.item_tokens = ItemTokens(ids.codes, ids.codebook_sizes)
        self.lm: Any = lm
        known: Tensor = lm.get_input_embeddings().weight.detach()
        self.n_words: int = known.shape[0]
        self.codes = nn.Embedding(vocabulary.size, known.shape[1])
        nn.init.normal_(self.codes.weight, std=float(known.std()))
        self.dropout = nn.Dropout(dropout)

    @property
    def device(self) -> torch.device:
        return self.codes.weight.device

    @property
    def begin(self) -> int:
        return self.n_words + Vocabulary.BOS

    @property
    def end(self) -> int:
        return self.n_words + Vocabulary.MASK

    @property
    def pad(self) -> int:
        return self.n_words + Vocabulary.PAD

    def with_items(self, ids: SemanticIds) -> Self:
        return over_items(self, ids)

    def id_tokens(self, items: Tensor) -> Tensor:
        """(.., n_codes) tokens of items."""
        tokens: Tensor = self.n_words + self.item_tokens.tokens_of(self.item_tokens.codes_of(items))
        return tokens

    def embed(self, tokens: Tensor) -> Tensor:
        is_word = tokens < self.n_words
        words = self.lm.get_input_embeddings()(tokens.clamp_max(self.n_words - 1))
        codes = self.codes((tokens - self.n_words).clamp_min(0))
        entering: Tensor = self.dropout(torch.where(is_word.unsqueeze(-1), words, codes))
        return entering

    def hidden(self, tokens: Tensor, **rest: Any) -> Tensor:
        """(rows, n) tokens to (rows, n, d_model); padding on the right is seen by nobody before it."""
        said = self.lm.base_model(inputs_embeds=self.embed(tokens), use_cache=bool(rest), **rest).last_hidden_state
        out: Tensor = self.dropout(said)
        return out

    def table(self) -> Tensor:
        """What hidden vectors are compared with, word by word and code by code."""
        return torch.cat([self.lm.get_output_embeddings().weight, self.codes.weight])

    def log_probs(self, hidden: Tensor, slot: int) -> Tensor:
        """(.., d_model) to (.., largest codebook): the codes of this slot among themselves, -inf beyond them."""
        first = self.offsets[slot]
        found = F.log_softmax(hidden @ self.codes.weight[first : first + self.sizes[slot]].mT, -1)
        return F.pad(found, (0, max(self.sizes) - self.sizes[slot]), value=-torch.inf)
