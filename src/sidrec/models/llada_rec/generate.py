"""Histories in, ranked items out: groups users by length, runs the search, and turns IDs into items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.core.errors import SettingsError
from sidrec.data.histories import Histories
from sidrec.decoding.diffusion import Predict, SearchResult, search
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.results import ranked_items
from sidrec.decoding.score_items import score_all, score_fitting
from sidrec.decoding.search_space import ItemSearchSpace
from sidrec.decoding.trace import Trace
from sidrec.decoding.user_constraint import UserConstraint
from sidrec.models.base import Candidates, Ranking
from sidrec.models.llada_rec.config import SearchSettings
from sidrec.models.llada_rec.predict import CodePredictor, make_predict
from sidrec.models.llada_rec.samples import tokens_table
from sidrec.models.rank_report import RankReport
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.vocabulary import Vocabulary

CACHED_USERS, REPEATED_USERS = 64, 8
"""Users per pass: with a shared history many are cheap; with a repeated one each brings all its beams."""
LAZY_BLOCK = 10


@dataclass(frozen=True)
class Generation:
    """One user's generation: what was returned, and how the search got there."""

    ranking: Ranking
    trace: Trace
    constraint: UserConstraint
    """Which items the user may get; knows what still fits a candidate."""


class Generator:
    """A network and the catalogue's IDs, ready to generate."""

    def __init__(self, network: CodePredictor, ids: SemanticIds, max_history: int) -> None:
        self.network, self.ids, self.max_history = network, ids, max_history
        self.catalogue = ItemSearchSpace(ids.codes, ids.codebook_sizes)
        self.tokens = tokens_table(ids.vocabulary.tokens_of(ids.codes), Vocabulary.PAD)

    def rank(self, histories: Histories, k: int, candidates: Candidates, settings: SearchSettings) -> Ranking:
        return self.report(histories, k, candidates, settings).ranking

    @torch.inference_mode()
    def report(self, histories: Histories, k: int, candidates: Candidates, settings: SearchSettings) -> RankReport:
        """The ranking, with the generated IDs behind it; an ID of no item takes no place in the ranking."""
        n_users = len(histories)
        items = np.full((n_users, k), -1, dtype=np.int32)
        scores = np.full((n_users, k), -np.inf, dtype=np.float32)
        codes = np.full((n_users, k, self.ids.n_codes), -1, dtype=np.int32)
        invalid = np.zeros(n_users, dtype=np.int64)
        for rows in self._groups(histories, settings):
            part = histories.take(rows)
            constraint = self.catalogue.constraint(part, candidates.allowed, candidates.exclude_seen)
            result = self._search(part, k, settings, constraint)
            items[rows], scores[rows] = ranked_items(self.catalogue.index, result, k, constraint)
            codes[rows, : result.codes.shape[1]] = result.codes.numpy()
            unknown = (self.catalogue.index.find(result.codes) < 0) & result.found
            invalid[rows] = unknown.sum(1).numpy()
        generated = (codes[..., 0] >= 0).sum(1)
        return RankReport(Ranking(items, scores), generated, invalid, generated - _distinct(codes), codes)

    @torch.inference_mode()
    def explain(self, history: Histories, k: int, candidates: Candidates, settings: SearchSettings) -> Generation:
        """The beam search of one user, traced."""
        if settings.method != "beam":
            raise SettingsError(f"search.method is {settings.method}, which has no steps to explain; use beam.")
        constraint = self.catalogue.constraint(history, candidates.allowed, candidates.exclude_seen)
        limits = constraint if settings.only_real_items else None
        result = search(self._predict(history, settings), 1, self._plan(k, settings), limits, trace=True)
        assert result.trace is not None
        ranking = Ranking(*ranked_items(self.catalogue.index, result, k, constraint))
        return Generation(ranking, result.trace, constraint)

    def _search(
        self, histories: Histories, k: int, settings: SearchSettings, constraint: UserConstraint
    ) -> SearchResult:
        predict, n_users = self._predict(histories, settings), len(histories)
        plan = self._plan(k, settings)
        if settings.method == "score-all":
            return score_all(predict, n_users, k, constraint)
        if settings.method == "score-fitting":
            return score_fitting(predict, n_users, plan, constraint)
        return search(predict, n_users, plan, constraint if settings.only_real_items else None)

    def _plan(self, k: int, settings: SearchSettings) -> SearchPlan:
        n_codes = self.ids.n_codes
        # one beam is greedy search, which has one answer (the paper's ablation); other beams are never fewer than k
        k = 1 if settings.beam_size == 1 and settings.method == "beam" else k
        return SearchPlan(
            n_codes=n_codes,
            k=k,
            n_steps=settings.n_steps or n_codes,
            beam_size=max(settings.beam_size, k),
            order=settings.order,
            narrowing=settings.narrowing,
            lazy_block=LAZY_BLOCK if settings.lazy else 0,
        )

    def _predict(self, histories: Histories, settings: SearchSettings) -> Predict:
        """The function the search asks; all given histories have the same length once cut."""
        cut = histories.last(self.max_history)
        items = torch.from_numpy(cut.items.astype(np.int64)).view(len(cut), -1)
        tokens: Tensor = self.tokens[items]
        return make_predict(self.network, tokens, frozen_history=settings.frozen_history)

    def _groups(self, histories: Histories, settings: SearchSettings) -> Iterator[NDArray[np.int64]]:
        """Users of equal (cut) length, so that nothing is padded; a bounded number at a time."""
        shared = self.network.history_is_fixed or settings.frozen_history
        at_once = CACHED_USERS if shared else REPEATED_USERS
        lengths = np.minimum(histories.lengths, self.max_history)
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            yield from np.array_split(rows, -(-len(rows) // at_once))


def _distinct(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many different IDs each user got."""
    same = (codes[:, :, None] == codes[:, None]).all(-1)  # (users, k, k)
    first = ~np.tril(same, -1).any(-1)
    distinct: NDArray[np.int64] = (first & (codes[..., 0] >= 0)).sum(1)
    return distinct
