"""What is asked of a model, as one value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.core.settings import Settings
from sidrec.data.histories import Histories


@dataclass(frozen=True)
class Request:
    """Whose next items, how many, from which, and searched how; items are indices of the catalogue."""

    histories: Histories
    k: int = 10
    allowed: NDArray[np.bool_] | None = None
    """A mask over the catalogue; None allows all."""
    exclude_seen: bool = False
    """Leave out what a user's own history holds."""
    users: Sequence[str] | None = None
    """The caller's user ids, one per history, for models that know users; None: nobody in particular."""
    search: Settings | None = None
    """How to search, for models that do; None: as the model's own settings say."""

    def __len__(self) -> int:
        return len(self.histories)

    def by(self, user: str | None) -> Request:
        """One history's question, asked by this user."""
        return self if user is None else replace(self, users=[user])

    def take(self, rows: NDArray[np.int64]) -> Request:
        """The same question for some of the users."""
        users = None if self.users is None else [self.users[row] for row in rows.tolist()]
        return replace(self, histories=self.histories.take(rows), users=users)

    def without(self, removed: NDArray[np.bool_] | None) -> Request:
        """The same question with these items never in the answer."""
        if removed is None:
            return self
        return replace(self, allowed=~removed if self.allowed is None else self.allowed & ~removed)


def check_k(k: int) -> None:
    """How many items somebody may ask for."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k is {k!r}; ask for a whole number of items, at least one.")


def check_asked(histories: Sequence[Sequence[str]], k: int, users: Sequence[str] | None) -> None:
    """Refuse what is no question, before ids are looked up."""
    check_k(k)
    listed = isinstance(histories, Sequence | np.ndarray | pl.Series) and not isinstance(histories, str)
    if not listed or any(isinstance(history, str) or not isinstance(history, Iterable) for history in histories):
        raise InputError("histories is a list of histories, each a list of item ids: [['a', 'b'], ['c']].")
    if isinstance(users, str):
        raise InputError("users is a list of user ids, one for each history, not a single string.")
    if users is not None and len(users) != len(histories):
        raise InputError(f"{len(users)} user ids for {len(histories)} histories; give one for each.")
