"""The floor: everybody gets what was most frequent in training."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sidrec.core.artifacts import Artifact
from sidrec.core.progress import Progress
from sidrec.core.settings import Settings
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories
from sidrec.models.base import Candidates, Ranking, Recommender, popular_items


class PopularitySettings(Settings):
    """Popularity has nothing to set."""


class Popularity(Recommender):
    """Ranks by training count; ties go to the lower item index."""

    key: ClassVar[str] = "popularity"
    settings_class: ClassVar[type[Settings]] = PopularitySettings

    def _fit(self, data: Dataset, workdir: Path | None, progress: Progress) -> None:
        """The counts are taken by the base class."""

    def _rank(self, histories: Histories, k: int, candidates: Candidates) -> Ranking:
        longest = int(histories.lengths.max(initial=0)) if candidates.exclude_seen else 0
        pool, scores = popular_items(self.counts, min(k + longest, len(self.counts)), candidates.allowed)
        fresh = np.tile(pool >= 0, (len(histories), 1))  # (users, pool)
        if candidates.exclude_seen:
            place = np.full(len(self.counts), len(pool))
            place[pool[pool >= 0]] = np.arange((pool >= 0).sum())
            users, places = np.repeat(np.arange(len(histories)), histories.lengths), place[histories.items]
            fresh[users[places < len(pool)], places[places < len(pool)]] = False
        order = np.argsort(~fresh, axis=1, kind="stable")[:, :k]
        kept = np.take_along_axis(fresh, order, 1)
        return _widened(np.where(kept, pool[order], -1), np.where(kept, scores[order], -np.inf), k)

    def _write_files(self, directory: Path) -> None:
        """Everything is in the catalogue file."""

    def _read_files(self, artifact: Artifact) -> None:
        """Everything is in the catalogue file."""


def _widened(items: NDArray[np.int32], scores: NDArray[np.float32], k: int) -> Ranking:
    """Exactly k columns."""
    missing = ((0, 0), (0, k - items.shape[1]))
    items = np.pad(items, missing, constant_values=-1)
    return Ranking(items.astype(np.int32), np.pad(scores, missing, constant_values=-np.inf).astype(np.float32))
