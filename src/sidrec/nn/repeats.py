"""The repeat term: what an item's score gains or loses because it is in the history, by how long ago that was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sidrec.data.histories import Histories

RepeatKind = Literal["off", "once", "by-age"]
AGES = (1, 2, 4, 8, 16)
"""Upper ends of the age buckets: the newest item, the one before, up to 4 ago, ..., older."""
SPEED = 10.0
"""The term is stored this much smaller, so that a step moves it as far as it needs to go (it ends near -7 or +7)."""


@dataclass(frozen=True)
class Past:
    """The items before each place, each once, and how many items ago it was last seen (the newest: 1)."""

    items: Tensor  # (places, n) int64, -1 where there is none
    ages: Tensor  # (places, n) int64

    def take(self, places: Tensor) -> Past:
        return Past(self.items[places], self.ages[places])


class RepeatTerm(nn.Module):
    """rho[age], added to the score of every item of the history."""

    bounds: Tensor

    def __init__(self, kind: RepeatKind) -> None:
        super().__init__()
        bounds = AGES if kind == "by-age" else ()
        self.rho = nn.Parameter(torch.zeros(len(bounds) + 1))
        self.register_buffer("bounds", torch.tensor(bounds, dtype=torch.int64), persistent=False)

    def forward(self, ages: Tensor) -> Tensor:
        """The term of each age."""
        return SPEED * self.rho[torch.bucketize(ages, self.bounds)]

    def of_past(self, past: Past) -> Tensor:
        """(places, n): the term of each item of the past, 0 where there is none."""
        return torch.where(past.items >= 0, self(past.ages), 0.0)

    def of_items(self, past: Past, items: Tensor) -> Tensor:
        """(places, m): the term of wanted items (places, m)."""
        same = past.items[:, :, None] == items[:, None, :]  # (places, n, m); each item is in a past at most once
        return (same * self.of_past(past)[:, :, None]).sum(1)

    @torch.no_grad()
    def for_users(self, histories: Histories) -> UserTerms:
        """The term of every item of every history, however long, looked up once for all blocks of users."""
        users, items, ages = newest_occurrences(histories)
        values = self(torch.from_numpy(ages).to(self.rho.device))
        return UserTerms(np.searchsorted(users, np.arange(len(histories) + 1)), users, items, values)


@dataclass(frozen=True)
class UserTerms:
    """What the histories of some users add to scores; those of user u lie at `first[u]:first[u + 1]`."""

    first: NDArray[np.int64]
    users: NDArray[np.int64]
    items: NDArray[np.int64]
    values: Tensor

    def add_to(self, scores: Tensor, rows: slice) -> None:
        """Add the terms of the users in the slice to their scores (users, n_items) in place."""
        own = slice(int(self.first[rows.start]), int(self.first[rows.stop]))
        at = torch.from_numpy(self.users[own] - rows.start), torch.from_numpy(self.items[own])
        scores[tuple(part.to(scores.device) for part in at)] += self.values[own].to(scores)


def newest_occurrences(
    histories: Histories,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    """(user, item, age) of every different item of every history."""
    users = np.repeat(np.arange(len(histories)), histories.lengths)
    ages = histories.offsets[1:][users] - histories.offsets[0] - np.arange(len(histories.items))
    order = np.lexsort((ages, histories.items, users))
    users, items, ages = users[order], histories.items[order].astype(np.int64), ages[order]
    first = np.ones(len(users), dtype=bool)
    first[1:] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
    return users[first], items[first], ages[first]


def past_of(items: Tensor, real: Tensor) -> Past:
    """Sequences (rows, n), oldest first, -1 on the right, to the past of each of the `real` (rows, n) places.

    The past of place t holds items 0 .. t: what is known when item t + 1 is asked for.
    """
    n = items.shape[1]
    place = torch.arange(n, device=items.device)
    again = (items[:, :, None] == items[:, None, :]) & (place[None, :] > place[:, None])  # (rows, j, later)
    until = torch.where(again, place, n).amin(-1)  # (rows, j): where item j comes again
    shown = (place[:, None] >= place) & (place[:, None] < until[:, None, :])  # (rows, t, j)
    ages = (place[:, None] - place + 1).expand_as(shown)
    return Past(items[:, None, :].expand_as(shown).masked_fill(~shown, -1)[real], ages[real])


def past_around(items: Tensor, wanted: Tensor) -> Past:
    """Sequences (rows, n), -1 where hidden or empty, to what each `wanted` (rows, n) place sees on both sides.

    Its age is how many places away the nearest copy is.
    """
    n = items.shape[1]
    place = torch.arange(n, device=items.device)
    far = (place[:, None] - place).abs()  # (at, j)
    nearer = (far[:, None, :] < far[:, :, None]) | ((far[:, None, :] == far[:, :, None]) & (place < place[:, None]))
    same = (items[:, :, None] == items[:, None, :]) & (items >= 0)[:, None, :]  # (rows, j, other)
    hidden = (same[:, None] & nearer).any(-1)  # (rows, at, j): a nearer copy speaks for the item
    shown = items[:, None, :].expand_as(hidden).masked_fill(hidden, -1)
    return Past(shown[wanted], far.expand_as(hidden)[wanted])
