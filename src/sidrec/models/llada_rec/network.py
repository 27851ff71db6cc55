"""The mask predictor: a Transformer over history and target tokens that names the code behind every [MASK]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sidrec.core.errors import InputError
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.nn.attention_masks import attention_mask
from sidrec.nn.transformer import Transformer
from sidrec.sids.vocabulary import Vocabulary

MASK = Vocabulary.MASK


@dataclass(frozen=True)
class HistoryCache:
    """Keys and values of a history, per layer, where they do not depend on the target."""

    keys: list[Tensor]  # each (users, heads, tokens, d_head)
    values: list[Tensor]


class MaskPredictor(nn.Module):
    """P(code | visible tokens) for every slot; inputs are tokens (rows, items, n_codes), newest item last."""

    offsets: Tensor
    beyond: Tensor

    def __init__(self, codebook_sizes: Sequence[int], settings: LLaDARecSettings) -> None:
        super().__init__()
        vocabulary = Vocabulary(tuple(codebook_sizes))
        self.codebook_sizes = tuple(codebook_sizes)
        self.n_codes, self.codebook_size = len(codebook_sizes), max(codebook_sizes)
        self.attention, self.positions = settings.attention, settings.positions
        self.temperature, self.max_history = settings.logit_temperature, settings.max_history
        d_model = settings.d_model
        self.tokens = nn.Embedding(vocabulary.size, d_model)
        self.slots = nn.Embedding(self.n_codes, d_model)
        self.items = nn.Embedding(settings.max_history + 1, d_model)
        self.dropout = nn.Dropout(settings.dropout)
        d_ff = settings.d_ff or 4 * d_model
        self.transformer = Transformer(settings.n_layers, d_model, settings.n_heads, d_ff, settings.dropout)
        self.shared_head = settings.head == "shared"
        self.head = nn.Parameter(torch.empty(self.n_codes, self.codebook_size, d_model))
        self.register_buffer("offsets", torch.from_numpy(vocabulary.offsets), persistent=False)
        sizes = torch.tensor(self.codebook_sizes)[:, None]
        self.register_buffer("beyond", torch.arange(self.codebook_size) >= sizes, persistent=False)  # (slots, K)
        self._start()

    def _start(self) -> None:
        """Small random embeddings: the Transformer's own layers start themselves."""
        for table in (self.tokens, self.slots, self.items):
            nn.init.normal_(table.weight, std=0.02)
        nn.init.normal_(self.head, std=0.02)

    # ---- inputs ---------------------------------------------------------------------------------------------------

    def tokens_of(self, codes: Tensor) -> Tensor:
        """Vocabulary tokens of codes; -1 becomes [MASK]."""
        return torch.where(codes < 0, MASK, codes + self.offsets)

    def item_positions(self, n_history: int, visible: Tensor | None = None, *, with_target: bool) -> Tensor:
        """Position of each item: 0 is the target when counted from the newest, the first item when from the oldest.

        (items,), or (rows, items) where padding makes the oldest item stand elsewhere in each row.
        """
        if n_history > self.max_history:
            raise InputError(
                f"a history of {n_history} items is longer than the model's {self.max_history} positions; "
                "cut it to the newest, or train with a larger max_history."
            )
        oldest_first = torch.arange(n_history + with_target, device=self.head.device)
        if self.positions == "from-newest":
            return n_history - oldest_first
        return oldest_first if visible is None else (visible.cumsum(1) - 1).clamp_min(0)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """(rows, items, n_codes) tokens as (rows, items * n_codes, d_model) vectors."""
        x = self.tokens(tokens) + self.slots.weight + self.items(positions).unsqueeze(-2)
        return self.dropout(x.flatten(1, 2))

    def mask_for(self, n_history: int, visible: Tensor | None, *, with_target: bool) -> Tensor | None:
        """The attention pattern, without padded items; None where everything may be seen."""
        pattern = attention_mask(self.attention, n_history, self.n_codes, with_target=with_target)
        pattern = None if pattern is None else pattern.to(self.head.device)
        if visible is None:
            return pattern
        keys = visible.repeat_interleave(self.n_codes, -1)[:, None, None, :]  # (rows, 1, 1, tokens)
        return keys if pattern is None else keys & pattern

    # ---- passes ---------------------------------------------------------------------------------------------------

    def hidden(self, tokens: Tensor, visible: Tensor | None = None, *, with_target: bool = True) -> Tensor:
        """Every token's last vector: (rows, items, n_codes, d_model). `visible` is False at padded items."""
        n_history = tokens.shape[1] - with_target
        x = self.embed(tokens, self.item_positions(n_history, visible, with_target=with_target))
        x = self.transformer(x, self.mask_for(n_history, visible, with_target=with_target))
        return x.view(*tokens.shape, -1)

    def target_hidden(self, tokens: Tensor, visible: Tensor | None = None) -> Tensor:
        """The last item's vectors only, (rows, n_codes, d_model): the last layer skips all other rows."""
        n_history = tokens.shape[1] - 1
        x = self.embed(tokens, self.item_positions(n_history, visible, with_target=True))
        mask = self.mask_for(n_history, visible, with_target=True)
        return self.transformer(x, mask, last_rows=self.n_codes)

    def one_pass_hidden(self, clean: Tensor, noisy: Tensor) -> Tensor:
        """All targets of a sequence at once: `clean` are items 1..n-1 as history, `noisy` items 2..n as targets.

        A clean item sees itself and older clean ones; a noisy one sees the clean ones before it and itself: exactly
        what each (history, target) pair would see alone under `inter-item-causal`.
        """
        n_clean = clean.shape[1]
        places = torch.arange(n_clean, device=clean.device)
        x = self.embed(torch.cat([clean, noisy], 1), torch.cat([places, places + 1]))
        mask = one_pass_mask(n_clean, self.n_codes).to(clean.device)
        x = self.transformer(x, mask, last_rows=n_clean * self.n_codes)
        return x.view(*noisy.shape, -1)

    # ---- outputs --------------------------------------------------------------------------------------------------

    def log_probs(self, hidden: Tensor) -> Tensor:
        """(.., n_codes, d_model) -> (.., n_codes, codebook_size); -inf beyond a slot's own codes."""
        shape = hidden.shape[:-2]
        rows = hidden.reshape(-1, self.n_codes, hidden.shape[-1]).transpose(0, 1)  # (slots, rows, d_model)
        if self.shared_head:
            every = self._shared_log_probs(rows.reshape(-1, rows.shape[-1])).view(*rows.shape[:2], self.n_codes, -1)
            slot = torch.arange(self.n_codes, device=hidden.device)
            found = every[slot, :, slot]
        else:
            logits = torch.bmm(rows, self.head.mT) / self.temperature
            found = F.log_softmax(logits.masked_fill(self.beyond[:, None], -torch.inf), -1)
        return found.transpose(0, 1).reshape(*shape, self.n_codes, self.codebook_size)

    def _shared_log_probs(self, rows: Tensor) -> Tensor:
        """One softmax over the codes of all slots; [PAD], [MASK] and [BOS] have no output, so they never win."""
        logits = rows @ self.head.flatten(0, 1).mT / self.temperature
        logits = logits.masked_fill(self.beyond.flatten(), -torch.inf)
        return F.log_softmax(logits, -1).view(-1, self.n_codes, self.codebook_size)

    def surprise(self, hidden: Tensor, codes: Tensor, masked: Tensor) -> Tensor:
        """-log P of the right code at masked tokens only, flat, in the order of `masked_order`.

        hidden (rows, .., n_codes, d_model), codes and masked (rows, .., n_codes); logits exist only where needed.
        """
        found = []
        for slot in range(self.n_codes):
            at = masked[..., slot]
            rows, right = hidden[..., slot, :][at], codes[..., slot][at]
            if self.shared_head:
                every = self._shared_log_probs(rows)[:, slot]
                found.append(-every.gather(-1, right[:, None]).squeeze(-1))
            else:
                size = self.codebook_sizes[slot]
                logits = rows @ self.head[slot, :size].mT / self.temperature
                found.append(F.cross_entropy(logits, right, reduction="none"))
        return torch.cat(found)

    # ---- the exact cache for patterns in which the history never sees the target ----------------------------------

    @property
    def history_is_fixed(self) -> bool:
        """Whether the history's keys and values are the same for every target."""
        return self.attention in ("prefix", "inter-item-causal", "causal")

    def cache_history(self, tokens: Tensor) -> tuple[HistoryCache, Tensor]:
        """Keys and values of histories of one length, and the log-probabilities of the all-[MASK] target.

        The target's [MASK] rows ride along in the same pass, so the first step costs no pass of its own.
        """
        masks = torch.full_like(tokens[:, :1], MASK)
        n_history = tokens.shape[1]
        x = self.embed(torch.cat([tokens, masks], 1), self.item_positions(n_history, with_target=True))
        mask = self.mask_for(n_history, None, with_target=True)
        x, keys, values = self.transformer.with_keys_values(x, mask, last_rows=self.n_codes)
        cut = n_history * self.n_codes
        cache = HistoryCache([k[:, :, :cut] for k in keys], [v[:, :, :cut] for v in values])
        return cache, self.log_probs(x)

    def cached_log_probs(self, codes: Tensor, cache: HistoryCache, n_history: int) -> Tensor:
        """Log-probabilities for beams (users, beams, n_codes) that share their user's cached history."""
        position = self.item_positions(n_history, with_target=True)[-1]
        x = self.tokens(self.tokens_of(codes)) + self.slots.weight + self.items(position)
        own = target_mask(self.n_codes).to(codes.device) if self.attention == "causal" else None
        return self.log_probs(self.transformer.with_history(x, cache.keys, cache.values, own))


def masked_order(values: Tensor, masked: Tensor) -> Tensor:
    """`values` at masked tokens, slot by slot: the order in which `MaskPredictor.surprise` answers."""
    return torch.cat([values[..., slot][masked[..., slot]] for slot in range(masked.shape[-1])])


def one_pass_mask(n_clean: int, n_codes: int) -> Tensor:
    """Who sees whom in [clean items; noisy items]: see `MaskPredictor.one_pass_hidden`."""
    item = torch.arange(n_clean).repeat_interleave(n_codes)
    older_or_same = item[:, None] >= item[None]  # clean i and the target behind it (noisy i) see clean <= i
    same = item[:, None] == item[None]
    top = torch.cat([older_or_same, torch.zeros_like(same)], 1)
    return torch.cat([top, torch.cat([older_or_same, same], 1)], 0)


def target_mask(n_codes: int) -> Tensor:
    """`causal` inside the target: a slot sees itself and the slots before it."""
    return torch.ones(n_codes, n_codes, dtype=torch.bool).tril()
