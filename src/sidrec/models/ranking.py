"""What a model answers: ranked items, and for models that generate also what the search did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.pages.notebook import html_table

_SHOWN_LISTS, _SHOWN_ITEMS = 3, 10


@dataclass(frozen=True)
class Ranking:
    """Best first; -1 and -inf fill the ranks for which no allowed item is left."""

    items: NDArray[np.int32]  # (users, k)
    scores: NDArray[np.float32]  # (users, k)


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

    def followed_by(self, other: RankReport) -> RankReport:
        """The same with other users behind these."""
        return RankReport(
            Ranking(
                np.concatenate([self.ranking.items, other.ranking.items]),
                np.concatenate([self.ranking.scores, other.ranking.scores]),
            ),
            np.concatenate([self.generated, other.generated]),
            np.concatenate([self.invalid, other.invalid]),
            np.concatenate([self.duplicates, other.duplicates]),
            None if self.codes is None or other.codes is None else np.concatenate([self.codes, other.codes]),
        )

    def take(self, rows: NDArray[np.int64]) -> RankReport:
        """These users, in this order."""
        return RankReport(
            Ranking(self.ranking.items[rows], self.ranking.scores[rows]),
            self.generated[rows],
            self.invalid[rows],
            self.duplicates[rows],
            None if self.codes is None else self.codes[rows],
        )


@dataclass(frozen=True)
class Recommendations:
    """The answer in the caller's words; row r belongs to history r."""

    item_ids: list[list[str]]
    titles: list[list[str]]
    scores: list[list[float]]
    fallback: list[bool]
    """True where nothing of the history is known, so the list is the most popular items."""
    unknown_items: list[int]
    """How many of the history's items the catalogue does not have; they were skipped."""
    notes: tuple[str, ...] = ()
    """What should be known about the filters: values that no item has."""

    def __repr__(self) -> str:
        """The first lists, as far as one likes to read."""
        shown = [self._shown(request) for request in range(min(len(self.item_ids), _SHOWN_LISTS))]
        more = len(self.item_ids) - len(shown)
        rest = [f"and {more:,} more"] if more else []
        return "\n".join([f"Recommendations({len(self.item_ids):,} lists)", *self.notes, *shown, *rest])

    def _repr_html_(self) -> str:
        """The same lists as tables."""
        tables = [self._table(request) for request in range(min(len(self.item_ids), _SHOWN_LISTS))]
        more = len(self.item_ids) - len(tables)
        return "".join([*tables, f"<p>and {more:,} more lists</p>" if more else ""])

    def _table(self, request: int) -> str:
        note = ": the most popular, nothing of the history is known" if self.fallback[request] else ""
        lists = zip(self.item_ids[request], self.titles[request], self.scores[request], strict=True)
        rows = [(rank, *row) for rank, row in enumerate(lists, 1)]
        return html_table(f"list {request}{note}", ["rank", "item_id", "title", "score"], rows[:_SHOWN_ITEMS])

    def _shown(self, request: int) -> str:
        note = " (most popular: nothing of the history is known)" if self.fallback[request] else ""
        lists = zip(self.item_ids[request], self.titles[request], self.scores[request], strict=True)
        lines = [
            f"  {rank:2}. {item_id}  {title}  {score:.3f}" for rank, (item_id, title, score) in enumerate(lists, 1)
        ]
        more = [f"  and {len(lines) - _SHOWN_ITEMS:,} more"] if len(lines) > _SHOWN_ITEMS else []
        return "\n".join([f"{request}:{note}", *lines[:_SHOWN_ITEMS], *more])

    def to_frame(self) -> pl.DataFrame:
        """One row per recommendation: request, rank, item_id, title, score, fallback."""
        rows = [
            (request, rank + 1, item_id, title, score, self.fallback[request])
            for request, lists in enumerate(zip(self.item_ids, self.titles, self.scores, strict=True))
            for rank, (item_id, title, score) in enumerate(zip(*lists, strict=True))
        ]
        names = ["request", "rank", "item_id", "title", "score", "fallback"]
        return pl.DataFrame(rows, schema=names, orient="row")
