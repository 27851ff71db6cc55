"""Item vectors as sums of parts: who the item is, its codes, its text; one table for input and output.

v_i = id_i + sum_m C_m[c_m(i)] + A text_i, each part a switch. With the identity alone it is an embedding table.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class ItemFeatures:
    """What is known of every item beside who took it; row i belongs to item i."""

    codes: Tensor | None = None  # (n_items, n_slots) int64, -1 where unknown
    sizes: tuple[int, ...] = ()
    """How many codes each slot has."""
    text: Tensor | None = None  # (n_items, width)
    warm: Tensor | None = None  # (n_items,) bool
    """Items with an identity of their own; the others stay with what codes and text say of them. None: all."""

    def followed_by(self, new: ItemFeatures) -> ItemFeatures:
        """The same with new items behind the old ones."""

        def joined(old: Tensor | None, more: Tensor | None) -> Tensor | None:
            return None if old is None or more is None else torch.cat([old, more])

        return ItemFeatures(joined(self.codes, new.codes), self.sizes, joined(self.text, new.text))


NOTHING_KNOWN = ItemFeatures()
_BLOCK = 65_536


class ItemVectors(nn.Module):
    """Takes the place of an embedding table; `n_extra` rows behind the items stand for no item ([MASK])."""

    tokens: Tensor | None
    text: Tensor | None
    warm: Tensor | None

    def __init__(
        self,
        n_items: int,
        d_model: int,
        features: ItemFeatures = NOTHING_KNOWN,
        *,
        identity: bool = True,
        identity_dropout: float = 0.0,
        n_extra: int = 0,
    ) -> None:
        super().__init__()
        self.n_items, self.embedding_dim, self.n_extra = n_items, d_model, n_extra
        self.identity, self.identity_dropout = identity, identity_dropout
        self.slot_sizes = features.sizes if features.codes is not None else ()
        self._kept: Tensor | None = None
        n_rows = n_extra + (n_items if identity else 0)
        self.weight = nn.Parameter(torch.empty(n_rows, d_model)) if n_rows else None
        self.code = nn.Parameter(torch.empty(1 + sum(self.slot_sizes), d_model)) if self.slot_sizes else None
        self.project = None if features.text is None else nn.Parameter(torch.empty(features.text.shape[1], d_model))
        self._know(features)
        self.initialise(1.0)
        self.register_load_state_dict_post_hook(_forget_sums)  # type: ignore[no-untyped-call]

    def initialise(self, std: float) -> None:
        """Every part starts with the same spread; no identity yet for items that shall do without."""
        if self.weight is not None:
            nn.init.normal_(self.weight, std=std)
        if self.weight is not None and self.warm is not None:
            self.weight.data.mul_(self.warm)
        if self.code is not None:
            nn.init.normal_(self.code, std=std / len(self.slot_sizes) ** 0.5)
            self.code.data[0] = 0
        if self.project is not None:
            nn.init.normal_(self.project, std=std / len(self.project) ** 0.5)

    # ---- the items ------------------------------------------------------------------------------------------------

    def forward(self, items: Tensor) -> Tensor:
        """Vectors of item indices of any shape."""
        if self._at_rest:
            return F.embedding(items, self._rows())
        return self._parts(items)

    def table(self) -> Tensor:
        """(n_items, d_model): what queries are multiplied with."""
        if self._identity_alone and not (self.training and self._identity_varies):
            assert self.weight is not None
            return self.weight if not self.n_extra else self.weight[: self.n_items]
        if self._at_rest:
            return self._rows()[: self.n_items]
        return self._parts(torch.arange(self.n_items, device=self.device))

    def tokens_of(self, items: Tensor) -> Tensor:
        """The rows of `code` that belong to items: (.., n_slots), 0 where unknown."""
        assert self.tokens is not None
        return self.tokens[items]

    def token_vectors(self, tokens: Tensor) -> Tensor:
        """(.., n_slots) to (.., n_slots, d_model); zero for what is unknown."""
        assert self.code is not None
        return F.embedding(tokens, self.code, padding_idx=0)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def n_slots(self) -> int:
        return len(self.slot_sizes)

    def grown(self, features: ItemFeatures, n_items: int) -> ItemVectors:
        """The same weights for more items: `features` speaks of old and new ones; the new have no identity.

        This one stays as it is, so whoever is reading it is not disturbed.
        """
        more = copy.copy(self)
        more._parameters, more._buffers, more._kept = dict(self._parameters), dict(self._buffers), None
        if self.identity and self.weight is not None:
            old, extra = self.weight[: self.n_items], self.weight[self.n_items :]
            fresh = old.new_zeros(n_items - self.n_items, self.embedding_dim)
            more.weight = nn.Parameter(torch.cat([old, fresh, extra]).detach())
        more.n_items = n_items
        more._know(features)
        return more

    @torch.no_grad()
    def take_over(self, old: ItemVectors, source: Tensor) -> None:
        """Begin with the weights of another table: `source` says which of its items each item is, -1 where it is new.

        What is new, items and codes, stays as it is; a slot's codes are the old ones and any new ones behind them.
        """
        known = source >= 0
        if self.weight is not None and old.weight is not None:
            theirs = old.weight.to(self.device)
            if self.identity:
                self.weight[: self.n_items][known] = theirs[source[known]]
            if self.n_extra:
                self.weight[-self.n_extra :] = theirs[-self.n_extra :]
            if self.warm is not None:
                self.weight.mul_(self.warm)
        if self.code is not None and old.code is not None:
            begin, first = 1, 1
            for size, old_size in zip(self.slot_sizes, old.slot_sizes, strict=True):
                self.code[begin : begin + old_size] = old.code[first : first + old_size]
                begin, first = begin + size, first + old_size
        if self.project is not None and old.project is not None:
            self.project.copy_(old.project)
        self._forget()

    # ---- the parts ------------------------------------------------------------------------------------------------

    def _parts(self, items: Tensor) -> Tensor:
        found = [part for part in (self._identity(items), self._codes(items), self._text(items)) if part is not None]
        return sum(found[1:], found[0])

    def _identity(self, items: Tensor) -> Tensor | None:
        if self.weight is None:
            return None
        if not self.identity:
            rows: Tensor = F.embedding((items - self.n_items).clamp_min(0), self.weight)
            return rows * (items >= self.n_items).unsqueeze(-1)
        rows = F.embedding(items, self.weight)
        if not (self.training and self._identity_varies):
            return rows
        kept = torch.ones_like(items, dtype=rows.dtype) if self.warm is None else F.embedding(items, self.warm)[..., 0]
        if self.identity_dropout:
            kept = kept * (torch.rand(items.shape, device=items.device) >= self.identity_dropout)
        return rows * kept.unsqueeze(-1)

    def _codes(self, items: Tensor) -> Tensor | None:
        if self.code is None or self.tokens is None:
            return None
        summed = F.embedding_bag(self.tokens[items.reshape(-1)], self.code, mode="sum", padding_idx=0)
        return summed.view(*items.shape, -1)

    def _text(self, items: Tensor) -> Tensor | None:
        return None if self.project is None or self.text is None else F.embedding(items, self.text) @ self.project

    def _as_tokens(self, codes: Tensor) -> Tensor:
        """Rows of `code`: slot after slot behind row 0, which stands for what is not known and stays zero."""
        sizes = torch.tensor((0, *self.slot_sizes[:-1]), device=codes.device)
        return (codes + sizes.cumsum(0) + 1).masked_fill(codes < 0, 0)

    def _know(self, features: ItemFeatures) -> None:
        """Features are kept beside the weights, not among them: they are not learned."""
        codes = None if features.codes is None else self._as_tokens(features.codes)
        warm = None if features.warm is None else features.warm.float().unsqueeze(-1)
        for name, known, extra in (("tokens", codes, 0), ("text", features.text, 0), ("warm", warm, 1)):
            padded = None if known is None else F.pad(known, (0, 0, 0, self.n_extra), value=extra)
            self.register_buffer(name, padded, persistent=False)

    # ---- a table that is at rest is added up once -----------------------------------------------------------------

    @property
    def _identity_alone(self) -> bool:
        return self.identity and self.code is None and self.project is None

    @property
    def _identity_varies(self) -> bool:
        return self.identity and (self.identity_dropout > 0 or self.warm is not None)

    @property
    def _at_rest(self) -> bool:
        return not self.training and not torch.is_grad_enabled()

    def _rows(self) -> Tensor:
        if self._identity_alone:
            assert self.weight is not None
            return self.weight
        if self._kept is None or self._kept.device != self.device:
            every = torch.arange(self.n_items + self.n_extra, device=self.device)
            self._kept = torch.cat([self._parts(block) for block in torch.split(every, _BLOCK)])
        return self._kept

    def _forget(self) -> None:
        self._kept = None

    def train(self, mode: bool = True) -> Any:
        self._forget()
        return super().train(mode)


def _forget_sums(module: nn.Module, _: Any) -> None:
    assert isinstance(module, ItemVectors)
    module._forget()
