"""What a generating model can tell about its search beyond the ranking; evaluation asks for it where it exists.

A model that generates codes may have a method `rank_report(histories, k, candidates) -> RankReport`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidrec.models.base import Ranking


@dataclass(frozen=True)
class RankReport:
    """The ranking, and for each user how many IDs were generated and how many of them were of no use."""

    ranking: Ranking
    generated: NDArray[np.int64]
    invalid: NDArray[np.int64]
    """IDs that no item has."""
    duplicates: NDArray[np.int64]
    """IDs that the same user's search had already given."""
    codes: NDArray[np.int32] | None = None
    """(users, k, n_codes) IDs as generated, invalid ones included: the authors' list, for code match."""
