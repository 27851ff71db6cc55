"""Catalogue-exact masked diffusion: histories and half-known targets in, vectors whose products score all items out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sidrec.models.item_objective import CausalNetwork
from sidrec.models.llada_rec_plus.config import LLaDARecPlusSettings
from sidrec.nn.history_encoders import (
    AttentionEncoder,
    FilterEncoder,
    GRUEncoder,
    HistoryEncoder,
    LRUEncoder,
)
from sidrec.nn.item_vectors import NOTHING_KNOWN, ItemFeatures
from sidrec.nn.positions import Distances
from sidrec.nn.transformer import INITIAL_STD


class PlusNetwork(CausalNetwork):
    """x = sum_m (C_m[c_m] if visible else mask_m) + v_last + position is the target's row; h is what comes out.

    p(i | visible, history) = softmax of h . v_i + rho [i in history] over the items that agree with what is visible.
    """

    def __init__(self, n_items: int, settings: LLaDARecPlusSettings, features: ItemFeatures = NOTHING_KNOWN) -> None:
        super().__init__()
        width = settings.d_model
        self.items, self.repeat = settings.vectors(n_items, features), settings.repeat_term()
        self.target_row = settings.target_row and self.items.n_slots > 0
        n_places = settings.max_history + self.target_row
        absolute = settings.encoder == "attention" and settings.positions == "absolute"
        self.positions = nn.Embedding(n_places, width) if absolute else None
        self.items.initialise(INITIAL_STD)
        if self.positions is not None:
            nn.init.normal_(self.positions.weight, std=INITIAL_STD)
        self.dropout = nn.Dropout(settings.dropout)
        self.encoder = _encoder(settings, n_places)
        self.mask = nn.Parameter(torch.empty(self.items.n_slots, width)) if self.target_row else None
        if self.mask is not None:
            nn.init.normal_(self.mask, std=INITIAL_STD / len(self.mask) ** 0.5)

    def hidden(self, items: Tensor) -> Tensor:
        """(rows, n) to (rows, n, d_model): at each place the target behind it, everything of it hidden."""
        if not self.target_row:
            out: Tensor = self.encoder(self.dropout(self._history(items)))
            return out
        return self.denoised(items, self._nothing_shown(items.shape)[:, None])[:, 0]

    def queries(self, histories: Tensor) -> Tensor:
        return self.queries_given(histories, self._nothing_shown(histories.shape[:1]))

    def queries_given(self, histories: Tensor, shown: Tensor) -> Tensor:
        """The queries for targets of which some tokens (users, n_slots) are visible, 0 where hidden."""
        if not self.target_row:
            return self.encoder.last(self.dropout(self._history(histories)))
        places = torch.tensor([histories.shape[1] - 1], device=histories.device)
        return self.denoised(histories, shown[:, None, None], places)[:, 0, 0]

    def denoised(self, items: Tensor, shown: Tensor, places: Tensor | None = None) -> Tensor:
        """Noisy copies of the targets behind the given (default: all) places of (rows, n) items.

        `shown` (rows, copies, places, n_slots) are the visible tokens, 0 where hidden; the answer has d_model instead.
        """
        places = torch.arange(items.shape[1], device=items.device) if places is None else places
        history = self._history(items)
        targets = self._seen(shown) + history[:, None, places]
        if self.positions is not None:
            targets = targets + self.positions(places + 1)
        return self.encoder.after(self.dropout(history), self.dropout(targets), places)

    def _history(self, items: Tensor) -> Tensor:
        x: Tensor = self.items(items)
        return x if self.positions is None else x + self.positions.weight[: items.shape[1]]

    def _seen(self, shown: Tensor) -> Tensor:
        assert self.mask is not None
        visible = (shown > 0).unsqueeze(-1)
        return torch.where(visible, self.items.token_vectors(shown), self.mask).sum(-2)

    def _nothing_shown(self, shape: tuple[int, ...]) -> Tensor:
        return torch.zeros(*shape, self.items.n_slots, dtype=torch.int64, device=self.items.device)


def _encoder(settings: LLaDARecPlusSettings, n_places: int) -> HistoryEncoder:
    layers, width, dropout = settings.n_layers, settings.d_model, settings.dropout
    if settings.encoder == "attention":
        distances = Distances(settings.n_heads, n_places - 1) if settings.positions == "relative" else None
        return AttentionEncoder(layers, width, settings.n_heads, dropout, distances)
    if settings.encoder == "lru":
        return LRUEncoder(layers, width, dropout)
    if settings.encoder == "gru":
        return GRUEncoder(layers, width, dropout)
    return FilterEncoder(layers, width, dropout, n_places)
