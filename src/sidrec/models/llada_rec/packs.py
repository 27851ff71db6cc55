"""The sequences of a training step laid one after the other, in packs of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.models.llada_rec.masking import Noise

PACK_TOKENS = 4096
"""Tokens per forward pass: larger temporaries cost page faults, smaller ones starve the matrix products."""
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Passes:
    """What a step puts through the network: pass p reads the `n_items[p]` items of one sequence for one loss.

    A sequence begins at `first[p]` in the flat array of items and has `n_history[p]` items before its last target. The
    next-item loss of `one-pass` reads the items before each target and then, once more, the targets (`twice`).
    """

    row: Ints  # of the batch
    first: Ints
    n_history: Ints
    n_items: Ints
    is_next: NDArray[np.bool_]
    twice: bool = False

    def __len__(self) -> int:
        return len(self.row)

    @property
    def n_read(self) -> Ints:
        """Of each pass: the items at its end that its loss may ask for."""
        return np.where(self.is_next, self.n_items - self.n_history, self.n_items)

    def take(self, chosen: Ints) -> Passes:
        whole = (part[chosen] for part in (self.row, self.first, self.n_history, self.n_items))
        row, first, n_history, n_items = whole
        return Passes(row, first, n_history, n_items, self.is_next[chosen], self.twice)

    def beside(self, other: Passes) -> Passes:
        pairs = (
            (self.row, other.row),
            (self.first, other.first),
            (self.n_history, other.n_history),
            (self.n_items, other.n_items),
        )
        row, first, n_history, n_items = (np.concatenate(pair) for pair in pairs)
        kinds = np.concatenate([self.is_next, other.is_next])
        return Passes(row, first, n_history, n_items, kinds, self.twice or other.twice)

    def packs(self, n_codes: int) -> Iterator[Passes]:
        """Passes of like length together, about `PACK_TOKENS` tokens at a time (at least one pass)."""
        order = np.lexsort((self.is_next, self.n_items))
        until = np.cumsum(self.n_items[order])  # items up to the end of each pass
        n_packs = -(-int(until[-1]) * n_codes // PACK_TOKENS)
        number = (until - 1) * n_packs // until[-1]
        for chosen in np.split(order, np.flatnonzero(np.diff(number)) + 1):
            yield self.take(chosen)

    def runs(self) -> Iterator[Passes]:
        """Neighbours that are alike but for their items."""
        alike = (np.diff(self.n_items) == 0) & (np.diff(self.n_history) == 0) & (self.is_next[1:] == self.is_next[:-1])
        for chosen in np.split(np.arange(len(self)), np.flatnonzero(~alike) + 1):
            yield self.take(chosen)


@dataclass(frozen=True)
class Places:
    """Every item of some passes: which it is, in which pass, and where there."""

    passes: Passes
    number: Ints  # of its pass
    within: Ints  # counted from the pass's first item
    at: Ints  # in the flat array of items

    @classmethod
    def of(cls, passes: Passes) -> Places:
        number = np.repeat(np.arange(len(passes)), passes.n_items)
        within = np.arange(len(number)) - np.repeat(np.cumsum(passes.n_items) - passes.n_items, passes.n_items)
        places = cls(passes, number, within, passes.first[number] + within)
        if not passes.twice:
            return places
        return cls(passes, number, within, places.at - np.where(places.is_target, places.n_history - 1, 0))

    @property
    def row(self) -> Ints:
        return self.passes.row[self.number]

    @property
    def n_history(self) -> Ints:
        return self.passes.n_history[self.number]

    @property
    def ages(self) -> Ints:
        """Items up to the last target, whose age is 0."""
        return self.passes.first[self.number] + self.n_history - self.at

    @property
    def is_next(self) -> NDArray[np.bool_]:
        return self.passes.is_next[self.number]

    @property
    def is_target(self) -> NDArray[np.bool_]:
        """What a next-item pass asks for."""
        return self.is_next & (self.within >= self.n_history)


@dataclass(frozen=True)
class Noisy:
    """The noise of places: which codes are hidden, and what each hidden one weighs, by the loss it belongs to."""

    masked: Tensor  # bool (places, n_codes)
    next_weight: Tensor  # (places, n_codes), 0 in passes of the history loss
    past_weight: Tensor  # (places, n_codes), 0 in passes of the next-item loss

    @classmethod
    def of(cls, places: Places, noises: tuple[Noise, Noise], columns: Ints) -> Noisy:
        """`noises` (rows, columns, n_codes) are those of the next items and of the histories."""
        next_noise, past_noise = noises
        shape = (len(columns), next_noise.masked.shape[-1])
        masked, weights = torch.zeros(shape, dtype=torch.bool), (torch.zeros(shape), torch.zeros(shape))
        row, column = torch.from_numpy(places.row), torch.from_numpy(columns)
        chosen = (places.is_target, ~places.is_next)
        for noise, weight, which in zip((next_noise, past_noise), weights, chosen, strict=True):
            at = torch.from_numpy(np.flatnonzero(which))
            masked[at] = noise.masked[row[at], column[at]]
            weight[at] = noise.weight[row[at], column[at]]
        return cls(masked, *weights)

    def to(self, device: torch.device) -> Noisy:
        return Noisy(self.masked.to(device), self.next_weight.to(device), self.past_weight.to(device))
