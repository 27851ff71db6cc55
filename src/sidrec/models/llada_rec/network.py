"""The mask predictor: a Transformer over history items and a target that names the code behind every [MASK]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.nn.attention_masks import attention_mask, sequence_tokens, without_padding
from sidrec.nn.positions import Positions
from sidrec.nn.transformer import INITIAL_STD, KeysValues, Transformer
from sidrec.sids.item_tokens import MASKED, ItemTokens, over_items
from sidrec.sids.semantic_ids import SemanticIds


class MaskPredictor(nn.Module):
    """P(code | what is visible) for every slot.

    Histories are items (rows, items), newest last; targets are codes (rows, n_codes), MASKED where unknown, because
    a target that is being generated is no item yet.
    """

    beyond: Tensor

    def __init__(self, ids: SemanticIds, settings: LLaDARecSettings) -> None:
        super().__init__()
        self.codebook_sizes = tuple(ids.codebook_sizes)
        self.n_codes, self.codebook_size = len(self.codebook_sizes), max(self.codebook_sizes)
        self.attention, self.temperature = settings.attention, settings.logit_temperature
        d_model = settings.d_model
        self.item_tokens = ItemTokens(ids.codes, self.codebook_sizes)
        self.tokens = nn.Embedding(ids.vocabulary.size, d_model)
        self.positions = Positions(self.n_codes, settings.max_history, d_model, settings.positions)
        self.dropout = nn.Dropout(settings.dropout)
        d_ff = settings.d_ff or 4 * d_model
        dropout = (settings.dropout, settings.attention_dropout)
        self.transformer = Transformer(settings.n_layers, d_model, settings.n_heads, d_ff, *dropout)
        self.shared_head = settings.head == "shared"
        self.head = nn.Parameter(torch.empty(self.n_codes, self.codebook_size, d_model))
        nn.init.normal_(self.tokens.weight, std=INITIAL_STD)
        nn.init.normal_(self.head, std=INITIAL_STD)
        sizes = torch.tensor(self.codebook_sizes)[:, None]
        self.register_buffer("beyond", torch.arange(self.codebook_size) >= sizes, persistent=False)  # (slots, K)

    # ---- the catalogue --------------------------------------------------------------------------------------------

    def with_items(self, ids: SemanticIds) -> Self:
        return over_items(self, ids)

    def item_tables(self) -> Mapping[str, Tensor]:
        """What is known of each item, by the name of the buffer: it changes with the catalogue, weights do not."""
        return {"item_tokens.codes": self.item_tokens.codes}

    @property
    def device(self) -> torch.device:
        return self.head.device

    # ---- inputs ---------------------------------------------------------------------------------------------------

    def embed(self, codes: Tensor, ages: Tensor, n_history: Tensor | int) -> Tensor:
        """(rows, items, n_codes) codes as (rows, items * n_codes, d_model) vectors; the target's age is 0."""
        slots = torch.arange(self.n_codes, device=codes.device)
        x = self.tokens(self.item_tokens.tokens_of(codes)) + self.positions(ages[..., None], slots, n_history)
        embedded: Tensor = self.dropout(x.flatten(1, 2))
        return embedded

    def embed_sequence(self, codes: Tensor, visible: Tensor | None, *, with_target: bool) -> Tensor:
        """Items that follow each other, the target last if there is one."""
        width = codes.shape[1] - with_target
        self.positions.check(width)
        ages = width - torch.arange(codes.shape[1], device=codes.device)
        if visible is None:
            return self.embed(codes, ages, width)
        return self.embed(codes, ages, (visible.sum(1) - int(with_target))[:, None, None])

    def _embed_with_target(self, history: Tensor, codes: Tensor, visible: Tensor | None) -> Tensor:
        every = torch.cat([self.item_tokens.codes_of(history), codes[:, None]], 1)
        return self.embed_sequence(every, visible, with_target=True)

    def mask_for(self, n_history: int, visible: Tensor | None, *, with_target: bool) -> Tensor | None:
        """The attention pattern, without padded items; None where everything may be seen."""
        real = None if visible is None else visible.repeat_interleave(self.n_codes, -1)  # (rows, tokens)
        if self.attention == "bidirectional":
            return None if real is None else real[:, None, None, :]
        tokens = sequence_tokens(n_history, self.n_codes, n_targets=int(with_target), device=self.device)
        mask = attention_mask(self.attention, tokens)
        return mask if real is None else without_padding(mask, real)

    # ---- passes ---------------------------------------------------------------------------------------------------

    def hidden(
        self, items: Tensor, masked: Tensor | None = None, visible: Tensor | None = None, *, with_target: bool = True
    ) -> Tensor:
        """Every token's last vector: (rows, items, n_codes, d_model).

        `masked` (rows, items, n_codes) says which codes are hidden; `visible` (rows, items) is False at padded items.
        """
        codes = self.item_tokens.codes_of(items)
        codes = codes if masked is None else codes.masked_fill(masked, MASKED)
        x = self.embed_sequence(codes, visible, with_target=with_target)
        x = self.transformer(x, self.mask_for(items.shape[1] - with_target, visible, with_target=with_target))
        hidden: Tensor = x.view(*codes.shape, -1)
        return hidden

    def window_hidden(self, clean: Tensor, masked: Tensor, lengths: Tensor) -> Tensor:
        """`hidden` of the history items alone of windows, as `one_pass_hidden` takes them."""
        codes = self.item_tokens.codes_of(clean).masked_fill(masked, MASKED)
        x = self.embed(codes, self._window_ages(clean, lengths), clean.shape[1])
        hidden: Tensor = self.transformer(x, self.mask_for(clean.shape[1], None, with_target=False)).view(
            *codes.shape, -1
        )
        return hidden

    def target_hidden(self, history: Tensor, codes: Tensor, visible: Tensor | None = None) -> Tensor:
        """The target's vectors only, (rows, n_codes, d_model): the last layer skips all other rows."""
        visible = None if visible is None else with_target_visible(visible)
        x = self._embed_with_target(history, codes, visible)
        mask = self.mask_for(history.shape[1], visible, with_target=True)
        hidden: Tensor = self.transformer(x, mask, rows=self._target_rows)
        return hidden

    def one_pass_hidden(self, clean: Tensor, codes: Tensor, lengths: Tensor) -> Tensor:
        """All targets of a window at once: `clean` are items 1..n-1 as history, `codes` those of items 2..n, targets.
        `lengths` (rows,) says how many targets a window has; padding stands on the right, where no real item looks.

        A clean item sees itself and older clean ones; a target sees the clean ones before it and itself: exactly
        what each (history, target) pair would see alone under `inter-item-causal`.
        """
        n_clean = clean.shape[1]
        ages = self._window_ages(clean, lengths)
        ages = torch.cat([ages, (ages - 1).clamp_min(0)], -1)
        x = self.embed(torch.cat([self.item_tokens.codes_of(clean), codes], 1), ages, n_clean)
        mask = one_pass_mask(n_clean, self.n_codes).to(clean.device)
        x = self.transformer(x, mask, rows=slice(n_clean * self.n_codes, None))
        hidden: Tensor = x.view(*codes.shape, -1)
        return hidden

    def _window_ages(self, clean: Tensor, lengths: Tensor) -> Tensor:
        """How far each history item of a window stands before the last target: by row, where places count from it."""
        width = clean.shape[1]
        self.positions.check(width)
        numbers = torch.arange(width, device=clean.device)
        if self.positions.kind == "authors":
            return (lengths[:, None] - numbers).clamp_min(0)
        return width - numbers

    def target_log_probs(self, history: Tensor, codes: Tensor, slots: Tensor | None = None) -> Tensor:
        """`log_probs` of targets alone: (rows, s, codebook_size)."""
        return self.log_probs(self.target_hidden(history, codes), slots)

    @property
    def _target_rows(self) -> slice:
        return slice(-self.n_codes, None)

    # ---- outputs --------------------------------------------------------------------------------------------------

    def log_probs(self, hidden: Tensor, slots: Tensor | None = None) -> Tensor:
        """(.., n_codes, d_model) -> (.., n_codes, codebook_size); -inf beyond a slot's own codes.

        Given `slots` (.., s), only theirs: (.., s, codebook_size), the same numbers.
        """
        if slots is None:
            slots = torch.arange(self.n_codes, device=hidden.device).expand(*hidden.shape[:-1])
        by_row = hidden.reshape(-1, self.n_codes, hidden.shape[-1])
        n_rows, asked = by_row.shape[0], slots.reshape(-1, slots.shape[-1])
        row = torch.arange(n_rows, device=hidden.device).unsqueeze(1)
        if self.shared_head:
            rows = by_row.flatten(0, 1).index_select(0, (row * self.n_codes + asked).flatten())
            every = self._shared_log_probs(rows).view(-1, self.codebook_size)
            own = torch.arange(rows.shape[0], device=hidden.device) * self.n_codes + asked.flatten()
            found = every.index_select(0, own)
        else:
            logits = torch.bmm(by_row.transpose(0, 1), self.head.mT).view(-1, self.codebook_size)  # (slots * rows, K)
            logits = logits.index_select(0, (asked * n_rows + row).flatten())
            found = F.log_softmax(self._own_codes(logits, asked.flatten()), -1)
        return found.view(*slots.shape, self.codebook_size)

    def _shared_log_probs(self, rows: Tensor) -> Tensor:
        """One softmax over the codes of all slots; [PAD], [MASK] and [BOS] have no output, so they never win."""
        logits = self._own_codes(rows @ self.head.flatten(0, 1).mT)
        return F.log_softmax(logits, -1).view(-1, self.n_codes, self.codebook_size)

    def _own_codes(self, logits: Tensor, slots: Tensor | None = None) -> Tensor:
        """Logits (rows, K) of these slots, or (rows, slots * K), at the temperature; -inf beyond a slot's codes."""
        if self.temperature != 1:
            logits = logits / self.temperature
        if len(set(self.codebook_sizes)) == 1:
            return logits
        return logits.masked_fill(self.beyond.flatten() if slots is None else self.beyond[slots], -torch.inf)

    def token_losses(self, hidden: Tensor, codes: Tensor, masked: Tensor) -> Tensor:
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

    def cache_history(self, history: Tensor) -> tuple[list[KeysValues], Tensor]:
        """Keys and values of histories of one length, and the log-probabilities of the all-[MASK] target.

        The target's [MASK] rows ride along in the same pass, so the first step costs no pass of its own.
        """
        target = history.new_full((history.shape[0], self.n_codes), MASKED)
        x = self._embed_with_target(history, target, None)
        mask = self.mask_for(history.shape[1], None, with_target=True)
        n_kept = history.shape[1] * self.n_codes
        hidden, kept = self.transformer.encode(x, mask, n_kept, rows=self._target_rows)
        return kept, self.log_probs(hidden)

    def cached_log_probs(
        self, codes: Tensor, history: list[KeysValues], n_history: int, slots: Tensor | None = None
    ) -> Tensor:
        """`log_probs` for beams (users, beams, n_codes) that share their user's kept history."""
        every = torch.arange(self.n_codes, device=codes.device)
        positions = self.positions(torch.zeros_like(every), every, n_history)
        x = self.tokens(self.item_tokens.tokens_of(codes)) + positions
        own = target_mask(self.n_codes, codes.device) if self.attention in _CAUSAL_INSIDE else None
        return self.log_probs(self.transformer.with_history(x, history, own_mask=own), slots)


_CAUSAL_INSIDE = ("causal", "intra-item-causal")


def masked_order(values: Tensor, masked: Tensor) -> Tensor:
    """`values` at masked tokens, slot by slot: the order in which `MaskPredictor.token_losses` answers."""
    return torch.cat([values[..., slot][masked[..., slot]] for slot in range(masked.shape[-1])])


def one_pass_mask(n_clean: int, n_codes: int) -> Tensor:
    """Who sees whom in [clean items; noisy items]: see `MaskPredictor.one_pass_hidden`."""
    item = torch.arange(n_clean).repeat_interleave(n_codes)
    older_or_same = item[:, None] >= item[None]  # clean i and the target behind it (noisy i) see clean <= i
    same = item[:, None] == item[None]
    top = torch.cat([older_or_same, torch.zeros_like(same)], 1)
    return torch.cat([top, torch.cat([older_or_same, same], 1)], 0)


def target_mask(n_codes: int, device: torch.device | None = None) -> Tensor:
    """`causal` inside the target: a slot sees itself and the slots before it."""
    return torch.ones(n_codes, n_codes, dtype=torch.bool, device=device).tril()


def with_target_visible(visible: Tensor) -> Tensor:
    """Visible history items (rows, items) with the target, which always is, behind them."""
    return torch.cat([visible, torch.ones_like(visible[:, :1])], 1)
