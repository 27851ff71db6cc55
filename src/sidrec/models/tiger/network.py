"""T5 from the transformers library, started at random: reads user and history, writes the next item's ID."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self
from zlib import crc32

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from sidrec.models.tiger.config import TigerSettings
from sidrec.sids.item_tokens import ItemTokens, over_items
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.vocabulary import Vocabulary


class IdWriter(nn.Module):
    """P(code | user, history, codes before it). Tokens: those of the IDs, then nobody, then the users' buckets.

    Codes in and codes out share one table of vectors, as T5's words do.
    """

    def __init__(self, ids: SemanticIds, settings: TigerSettings) -> None:
        from transformers import T5Config, T5Model

        super().__init__()
        vocabulary = ids.vocabulary
        self.sizes, self.offsets = ids.codebook_sizes, vocabulary.offsets.tolist()
        self.nobody, self.n_buckets = vocabulary.size, settings.user_buckets
        self.temperature = settings.ranking_temperature
        self.item_tokens = ItemTokens(ids.codes, ids.codebook_sizes)
        config = T5Config(
            vocab_size=vocabulary.size + 1 + settings.user_buckets,
            d_model=settings.d_model,
            d_kv=settings.d_head,
            d_ff=settings.d_ff,
            num_layers=settings.n_layers,
            num_heads=settings.n_heads,
            dropout_rate=settings.dropout,
            pad_token_id=Vocabulary.PAD,
            use_cache=False,
        )
        self.t5: Any = T5Model(config)

    @property
    def device(self) -> torch.device:
        found: torch.device = self.t5.shared.weight.device
        return found

    @property
    def n_codes(self) -> int:
        return len(self.sizes)

    def with_items(self, ids: SemanticIds) -> Self:
        return over_items(self, ids)

    def user_tokens(self, user_ids: Sequence[str]) -> NDArray[np.int64]:
        """The same bucket for the same id, today and elsewhere."""
        buckets = [crc32(user_id.encode()) % self.n_buckets for user_id in user_ids]
        return self.nobody + 1 + np.array(buckets, dtype=np.int64)

    # ---- reading ----------------------------------------------------------------------------------------------------

    def tokens_of(self, items: Tensor, users: Tensor) -> Tensor:
        """User and history as tokens (rows, 1 + items * n_codes); item -1 is padding and stands on the right."""
        history = self.item_tokens.tokens_of(self.item_tokens.codes_of(items)).flatten(1)
        return torch.cat([users[:, None], history], 1)

    def encode(self, tokens: Tensor, visible: Tensor | None = None) -> Tensor:
        """(rows, tokens, d_model)."""
        encoded: Tensor = self.t5.encoder(input_ids=tokens, attention_mask=visible).last_hidden_state
        return encoded

    # ---- writing ----------------------------------------------------------------------------------------------------

    def hidden(self, items: Tensor, users: Tensor, codes: Tensor) -> Tensor:
        """The decoder's vectors from which each code of a target (rows, n_codes) is told: (rows, n_codes, d_model)."""
        tokens = self.tokens_of(items, users)
        visible = tokens != Vocabulary.PAD
        seen = None if bool(visible.all()) else visible
        begun = F.pad(self.item_tokens.tokens_of(codes)[:, :-1], (1, 0), value=Vocabulary.BOS)
        hidden: Tensor = self.t5.decoder(
            input_ids=begun, encoder_hidden_states=self.encode(tokens, seen), encoder_attention_mask=seen
        ).last_hidden_state
        return hidden

    def logits(self, hidden: Tensor, slot: int) -> Tensor:
        """(.., d_model) -> (.., codes of this slot); other tokens cannot stand there."""
        first = self.offsets[slot]
        vectors = self.t5.shared.weight[first : first + self.sizes[slot]]
        found: Tensor = hidden @ vectors.mT / (vectors.shape[-1] ** 0.5 * self.temperature)
        return found

    def log_probs(self, hidden: Tensor, slot: int) -> Tensor:
        """The same as log-probabilities (.., largest codebook), -inf beyond this slot's codes."""
        found = F.log_softmax(self.logits(hidden, slot), -1)
        return F.pad(found, (0, max(self.sizes) - self.sizes[slot]), value=-torch.inf)

    def token_losses(self, hidden: Tensor, codes: Tensor) -> Tensor:
        """-log P of every code: (rows, n_codes)."""
        losses = [
            F.cross_entropy(self.logits(hidden[:, slot], slot), codes[:, slot], reduction="none")
            for slot in range(self.n_codes)
        ]
        return torch.stack(losses, 1)
