"""Which item holds which tuple of codes while tuples are dealt out: the state of the matching in `unique_ids`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidrec.sids.base import Codes
from sidrec.sids.id_keys import contains

Keys = NDArray[np.uint64]
Items = NDArray[np.int64]


@dataclass(frozen=True)
class Held:
    """Which mover holds which tuple, in order of the key; `increase` is what it pays."""

    keys: Keys
    movers: Items
    increase: NDArray[np.float64]
    codes: Codes

    @classmethod
    def nothing(cls, n_codes: int) -> Held:
        return cls(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0), np.empty((0, n_codes), np.int32))

    def take(self, rows: NDArray[Any]) -> Held:
        return Held(self.keys[rows], self.movers[rows], self.increase[rows], self.codes[rows])

    def best_per_key(self) -> tuple[Held, Items]:
        """Proposals reduced to the cheapest for each tuple, and the movers that lost."""
        rows = np.lexsort((self.movers, self.increase, self.keys))
        first = np.ones(len(rows), dtype=bool)
        first[1:] = self.keys[rows][1:] != self.keys[rows][:-1]
        return self.take(rows[first]), self.movers[rows[~first]]

    def challenged(self, proposals: Held) -> tuple[Held, Items]:
        """After each tuple has kept the best of its holder and the proposals; also the movers left without one."""
        best, losers = proposals.best_per_key()
        at = np.searchsorted(self.keys, best.keys)
        exists = contains(self.keys, best.keys)
        now = self.take(np.minimum(at, len(self.keys) - 1)) if len(self.keys) else best
        cheaper = (best.increase < now.increase) | ((best.increase == now.increase) & (best.movers < now.movers))
        beaten, won = exists & cheaper, ~exists | cheaper
        losers = np.concatenate([losers, now.movers[beaten], best.movers[~won]])
        return self._with(best, at, beaten, ~exists), losers

    def _with(self, best: Held, at: Items, replacing: NDArray[np.bool_], new: NDArray[np.bool_]) -> Held:
        columns = []
        for name in ("keys", "movers", "increase", "codes"):
            values, changed = getattr(best, name), getattr(self, name).copy()
            changed[at[replacing]] = values[replacing]
            columns.append(np.insert(changed, at[new], values[new], axis=0))
        return Held(*columns)
