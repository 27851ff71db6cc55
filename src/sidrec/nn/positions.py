"""Learned positions: which slot of an item a token fills, how long ago the item was, how far apart two places are."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from sidrec.core.errors import InputError
from sidrec.nn.transformer import INITIAL_STD

SPEED = 3.0
"""Distances are stored this much smaller than they act, so that a few epochs move them far enough."""
PositionKind = Literal["from-newest", "absolute", "authors"]


class Positions(nn.Module):
    """Adds up two learned vectors per token.

    `from-newest`: the token's slot, and its item counted back from the target (target 0, newest history item 1), so
    that a longer history shifts nothing. `absolute`: the token's place in the flat sequence and its item's place in
    it, both from the oldest. `authors`: the same two tables for histories that are padded on the left to `max_history`
    items, so that places count from the newest: one vector of its own for every age and slot.
    """

    def __init__(
        self,
        n_codes: int,
        max_history: int,
        d_model: int,
        kind: PositionKind = "from-newest",
    ) -> None:
        super().__init__()
        self.n_codes, self.max_history, self.kind = n_codes, max_history, kind
        n_items = max_history + 1
        self.token = nn.Embedding(n_codes if kind == "from-newest" else n_items * n_codes, d_model)
        self.item = nn.Embedding(n_items, d_model)
        for table in (self.token, self.item):
            nn.init.normal_(table.weight, std=INITIAL_STD)

    def forward(self, age: Tensor, slot: Tensor, n_history: Tensor | int) -> Tensor:
        """Position vectors (..., d_model) of tokens by the age of their item (target 0) and their slot.

        `n_history`, the number of items before the target, broadcasts to `age`; only `absolute` looks at it.
        """
        if self.kind == "from-newest":
            vectors: Tensor = self.token(slot) + self.item(age)
            return vectors
        n_before = self.max_history if self.kind == "authors" else n_history
        item = (n_before - age).clamp(min=0)  # padding, older than the oldest item, is seen by nobody
        vectors = self.token(item * self.n_codes + slot) + self.item(item)
        return vectors

    def check(self, n_history: int) -> None:
        """The door: call it with the longest history before anything is computed."""
        if n_history > self.max_history:
            raise InputError(
                f"a history of {n_history} items is longer than the {self.max_history} positions this model was "
                f"trained with; pass only the last {self.max_history} items, or train with a larger max_history."
            )


class Distances(nn.Module):
    """What each head adds to the score of a place by how many places before the looking one it lies.

    It speaks of distances alone, so a longer history shifts nothing and there is no place that was never trained.
    """

    def __init__(self, n_heads: int, longest: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(n_heads, longest + 1))

    def forward(self, queries: Tensor, keys: Tensor, sees: Tensor) -> Tensor:
        """Places (q,) and (k,), and who may look at whom (q, k), to what is added to scores: (1, heads, q, k)."""
        apart = (queries[:, None] - keys).clamp(0, self.bias.shape[1] - 1)
        return (SPEED * self.bias[:, apart]).masked_fill(~sees, -torch.inf).unsqueeze(0)
