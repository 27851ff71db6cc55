"""What keeps a search inside a catalogue."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Constraint(Protocol):
    """What a search needs to stay inside a catalogue; every row has the same number of filled slots."""

    def valid(self, codes: Tensor, slots: Tensor, n_filled: int | None = None) -> Tensor:
        """Codes (users, beams, M), -1 where masked, and asked masked slots (users, beams, s): may the code be taken?

        `n_filled` is how many slots of every row are filled; whoever leaves it out makes the index look.
        Returns bool (users, beams, s, K): true exactly where some item agrees with the filled slots and this code.
        """

    def count(self, codes: Tensor) -> Tensor:
        """How many IDs still fit: int (users, beams)."""
