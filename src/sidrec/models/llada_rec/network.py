"""The mask predictor: a Transformer over history items and a target that names the code behind every [MASK]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.llada_rec.packs import Passes, Places
from sidrec.nn.attention_masks import attention_mask, one_pass_mask, sequence_tokens, target_mask, without_padding
from sidrec.nn.packed_attention import Stretch
from sidrec.nn.packing import packed_forward, packed_layers
from sidrec.nn.positions import Positions
from sidrec.nn.products import linear
from sidrec.nn.row_functions import noise
from sidrec.nn.shared_history import few_rows, gather_history, with_targets
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

    def packed_hidden(self, codes: Tensor, masked: Tensor, places: Places) -> Tensor:
        """The last vectors of hidden codes, (hidden, d_model), in the order of `masked_order`, of a training pack.

        `codes` and `masked` (places, n_codes) belong to the items of the pack's passes.
        """
        slot, item = masked.mT.nonzero(as_tuple=True)
        x = self._embed_places(codes.masked_fill(masked, MASKED), places)
        return packed_forward(self.transformer, x, self._stretches(places.passes), item * self.n_codes + slot)

    def _embed_places(self, codes: Tensor, places: Places) -> Tensor:
        """(places * n_codes, d_model); all the places there are have their vectors made once."""
        longest = self.positions.max_history
        ages = places.ages if self.positions.kind != "absolute" else places.ages + longest - places.n_history
        slots = torch.arange(self.n_codes, device=codes.device)
        every = self.positions(torch.arange(longest + 1, device=codes.device)[:, None], slots, longest).flatten(0, 1)
        at = torch.from_numpy(ages).to(codes.device)[:, None] * self.n_codes + slots
        x: Tensor = self.tokens(self.item_tokens.tokens_of(codes).flatten())
        x = x + F.embedding(at.flatten(), every)
        return x * noise(x, self.dropout.p) if self.training and self.dropout.p else x

    def _stretches(self, passes: Passes) -> list[Stretch]:
        return [
            Stretch(len(run), int(run.n_items[0]) * self.n_codes, int(run.n_read[0]) * self.n_codes, self._mask_of(run))
            for run in passes.runs()
        ]

    def _mask_of(self, alike: Passes) -> Tensor | None:
        """Who sees whom in each of these passes."""
        n_history, is_next = int(alike.n_history[0]), bool(alike.is_next[0])
        if alike.twice and is_next:
            return one_pass_mask(n_history, self.n_codes).to(self.device)
        return self.mask_for(n_history, None, with_target=int(alike.n_items[0]) > n_history)

    def target_hidden(self, history: Tensor, codes: Tensor, visible: Tensor | None = None) -> Tensor:
        """The target's vectors only, (rows, n_codes, d_model): the last layer skips all other rows."""
        visible = None if visible is None else with_target_visible(visible)
        x = self._embed_with_target(history, codes, visible)
        mask = self.mask_for(history.shape[1], visible, with_target=True)
        hidden: Tensor = self.transformer(x, mask, rows=self._target_rows)
        return hidden

    def target_log_probs(self, history: Tensor, codes: Tensor, slots: Tensor | None = None) -> Tensor:
        """`log_probs` of targets alone: (rows, s, codebook_size)."""
        return self.log_probs(self.target_hidden(history, codes), slots)

    def beam_log_probs(self, history: Tensor, codes: Tensor, slots: Tensor) -> Tensor:
        """`target_log_probs` of several targets, (users, beams, n_codes), for each history: (users, beams, s, K).

        Where histories see the target each beam needs rows of its own, but what comes before a history's first look at
        the target is computed once for all; the last layer computes only the asked slots.
        """
        width, n_history = history.shape[1], history.shape[1] * self.n_codes
        first, *others = self.transformer.layers()
        past = self.embed_sequence(self.item_tokens.codes_of(history), None, with_target=False)
        gathered = gather_history(first, past, self.mask_for(width, None, with_target=False))
        targets = self._embed_beams(codes, width)
        if not others:
            hidden = first.with_history(targets, gathered.seen, own_mask=self._own_mask)
            return self.log_probs(self.transformer.norm(hidden), slots)
        mask = self.mask_for(width, None, with_target=True)
        x = with_targets(first, gathered, targets, self._own_mask).flatten(0, 1)  # (users * beams, length, d_model)
        stretch = Stretch(x.shape[0], x.shape[1], self.n_codes, mask)
        x = packed_layers(others[:-1], x.flatten(0, 1), [stretch]).view(x.shape)
        asked = slots.flatten(0, 1)
        found = self.transformer.norm(few_rows(others[-1], x, asked + n_history, mask))
        hidden = found.new_zeros(len(x), self.n_codes, x.shape[-1])
        hidden = hidden.scatter(1, asked.unsqueeze(-1).expand(found.shape), found)
        return self.log_probs(hidden.view(targets.shape), slots)

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

    def token_losses(self, hidden: Tensor, right: Tensor, counts: list[int]) -> Tensor:
        """-log P of the right codes, (tokens,): first `counts[0]` tokens of slot 0, then those of slot 1, and so on."""
        if self.shared_head:
            slots = torch.arange(self.n_codes, device=hidden.device).repeat_interleave(right.new_tensor(counts))
            every = self._shared_log_probs(hidden).flatten(1)
            return -every.gather(-1, (slots * self.codebook_size + right)[:, None]).squeeze(-1)
        found = []
        parts = zip(hidden.split(counts), right.split(counts), self.head, self.codebook_sizes, strict=True)  # type: ignore[no-untyped-call]
        for rows, codes, head, size in parts:
            logits = linear(rows, head[:size] / self.temperature)
            found.append(F.cross_entropy(logits, codes, reduction="none"))
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
        x = self._embed_beams(codes, n_history)
        return self.log_probs(self.transformer.with_history(x, history, own_mask=self._own_mask), slots)

    def _embed_beams(self, codes: Tensor, n_history: int) -> Tensor:
        """(users, beams, n_codes, d_model) of targets behind histories of one length."""
        slots = torch.arange(self.n_codes, device=codes.device)
        embedded: Tensor = self.tokens(self.item_tokens.tokens_of(codes))
        embedded = embedded + self.positions(torch.zeros_like(slots), slots, n_history)
        return embedded

    @property
    def _own_mask(self) -> Tensor | None:
        """Who sees whom inside a target; None where everything may be seen."""
        return target_mask(self.n_codes, self.device) if self.attention in _CAUSAL_INSIDE else None


_CAUSAL_INSIDE = ("causal", "intra-item-causal")


def masked_order(values: Tensor, masked: Tensor) -> Tensor:
    """`values` (items, n_codes) at masked tokens, slot by slot: the order that `MaskPredictor.token_losses` wants."""
    return values.mT[masked.mT]


def with_target_visible(visible: Tensor) -> Tensor:
    """Visible history items (rows, items) with the target, which always is, behind them."""
    return torch.cat([visible, torch.ones_like(visible[:, :1])], 1)
