"""Generation from left to right: every code is read once, and what a network keeps of it serves all beams behind it.

The codes read so far are a tree, in which a beam is a path from the root. Codes are only ever added to what is kept;
which of them a new one may see, its own path, follows the beams. Nothing that was kept is copied or moved, and the
history, which all beams of a user share, is there once.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from sidrec.decoding.beam import pick

Read = Callable[[Tensor, int, Tensor], Tensor]
"""Codes (users, n) of one slot, that slot, and who sees whom: bool (users, n, n_before + n), true for the codes read
before that a new one stands behind, and for itself. It keeps the new codes behind those before, and gives the
log-probabilities of the next slot behind each (users, n, K), -inf beyond its codebook. The last slot is never read."""


class LeftToRight:
    """A `Predict` for one search that fills slot after slot, all beams of a step in one call.

    `first` are the log-probabilities of slot 0 (users, K), which the history alone decides.
    """

    def __init__(self, first: Tensor, read: Read) -> None:
        self._first, self._read = first, read
        self._n_calls = 0
        self._asked = torch.empty(0)
        self._path = torch.empty(0)

    def __call__(self, codes: Tensor, slots: Tensor) -> Tensor:
        assert slots.shape[-1] == 1, "one slot a step"
        n_filled, self._n_calls = self._n_calls, self._n_calls + 1
        if n_filled == 0:
            self._asked, self._path = codes, codes.new_zeros(*codes.shape[:2], 0, dtype=torch.bool)
            return self._first[:, None, None]
        parents = parents_of(codes, self._asked, n_filled - 1)
        own = torch.eye(codes.shape[1], dtype=torch.bool, device=codes.device).expand(len(codes), -1, -1)
        self._asked, self._path = codes, torch.cat([pick(self._path, parents), own], dim=-1)
        return self._read(codes[..., n_filled - 1], n_filled - 1, self._path).unsqueeze(2)


def parents_of(codes: Tensor, before: Tensor, n_filled: int) -> Tensor:
    """The number (users, n) of the earlier beam (users, n_before, M) with the same first `n_filled` codes.

    Beams are different, so there is one; a dead beam may have none, and then any will do.
    """
    same = codes[:, :, None, :n_filled] == before[:, None, :, :n_filled]  # (users, n, n_before, n_filled)
    return same.all(-1).byte().argmax(-1)
