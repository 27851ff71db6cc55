"""The floor: everybody gets what was most frequent in training."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sidrec.core.artifacts import Artifact
from sidrec.core.progress import Progress
from sidrec.core.settings import Settings
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.models.base import Recommender
from sidrec.models.ranking import Ranking
from sidrec.models.request import Request
from sidrec.models.stock import Stock, popular_items


class PopularitySettings(Settings):
    """Popularity has nothing to set."""


class Popularity(Recommender):
    """Ranks by training count; ties go to the lower item index."""

    key = "popularity"
    settings_class: ClassVar[type[Settings]] = PopularitySettings

    def _fit(self, data: Dataset, workdir: Path | None, progress: Progress) -> None:
        """The counts are taken by the base class."""

    def _rank(self, request: Request, stock: Stock) -> Ranking:
        counts, histories, k = stock.counts, request.histories, request.k
        longest = int(histories.lengths.max(initial=0)) if request.exclude_seen else 0
        pool, scores = popular_items(counts, min(k + longest, len(counts)), request.allowed)
        fresh = np.tile(pool >= 0, (len(histories), 1))  # (users, pool)
        if request.exclude_seen:
            column = np.full(len(counts), len(pool))
            column[pool[pool >= 0]] = np.arange((pool >= 0).sum())
            users, columns = np.repeat(np.arange(len(histories)), histories.lengths), column[histories.items]
            fresh[users[columns < len(pool)], columns[columns < len(pool)]] = False
        order = np.argsort(~fresh, axis=1, kind="stable")[:, :k]
        kept = np.take_along_axis(fresh, order, 1)
        return _widened(np.where(kept, pool[order], -1), np.where(kept, scores[order], -np.inf), k)

    def _write_files(self, directory: Path) -> None:
        """Everything is in the catalogue file."""

    def _read_files(self, artifact: Artifact, catalog: Catalog) -> None:
        """Everything is in the catalogue file."""


def _widened(items: NDArray[np.int32], scores: NDArray[np.float32], k: int) -> Ranking:
    """Exactly k columns."""
    missing = ((0, 0), (0, k - items.shape[1]))
    items = np.pad(items, missing, constant_values=-1)
    return Ranking(items.astype(np.int32), np.pad(scores, missing, constant_values=-np.inf).astype(np.float32))
