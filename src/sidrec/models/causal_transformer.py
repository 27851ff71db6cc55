"""The causal Transformer over items: the network of SASRec and of the models that grew from it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sidrec.models.item_objective import CausalNetwork
from sidrec.models.item_scorer import AttentionSettings
from sidrec.nn.item_vectors import NOTHING_KNOWN, ItemFeatures
from sidrec.nn.transformer import INITIAL_STD, Transformer


class CausalTransformer(CausalNetwork):
    """Item vectors plus learned positions through causal blocks."""

    def __init__(self, n_items: int, settings: AttentionSettings, features: ItemFeatures = NOTHING_KNOWN) -> None:
        super().__init__()
        width = settings.d_model
        self.items, self.repeat = settings.vectors(n_items, features), settings.repeat_term()
        self.positions = nn.Embedding(settings.max_history, width)  # counted from the oldest item
        self.items.initialise(INITIAL_STD)
        nn.init.normal_(self.positions.weight, std=INITIAL_STD)
        self.dropout = nn.Dropout(settings.dropout)
        self.transformer = Transformer(settings.n_layers, width, settings.n_heads, 2 * width, settings.dropout)

    def hidden(self, items: Tensor) -> Tensor:
        out: Tensor = self.transformer(self._enter(items), is_causal=True)
        return out

    def queries(self, histories: Tensor) -> Tensor:
        n = histories.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool, device=histories.device).tril()
        out: Tensor = self.transformer(self._enter(histories), causal, rows=slice(n - 1, n))
        return out[:, 0]

    def _enter(self, items: Tensor) -> Tensor:
        x: Tensor = self.dropout(self.items(items) + self.positions.weight[: items.shape[1]])
        return x
