"""Histories in, ranked items out: groups users by length, runs the search for IDs, and turns IDs into items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from sidrec.core.errors import SettingsError, TrainingError
from sidrec.core.pages.notebook import html_lines
from sidrec.core.settings import Settings
from sidrec.decoding.diffusion import Predict, SearchResult, search
from sidrec.decoding.drawing import draw, tell
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.results import ranked_items
from sidrec.decoding.score_items import score_all, score_fitting
from sidrec.decoding.search_space import ItemSearchSpace
from sidrec.decoding.trace import Trace
from sidrec.decoding.user_constraint import UserConstraint
from sidrec.models.ranking import Ranking, RankReport
from sidrec.models.request import Request

LAZY_BLOCK = 10


class SearchSettings(Settings):
    """How the next item's codes are generated."""

    beam_size: int = Field(50, ge=1)
    """Beams kept after every filled slot (B), at least as many as items are asked for; 1 is greedy: one item."""
    n_steps: int | None = Field(None, ge=1)
    """Forward passes per generation (T); None means one per code."""
    order: Literal["adaptive", "left-to-right", "right-to-left"] = "adaptive"
    confidence: Literal["valid", "all"] = "valid"
    """Adaptive order: how sure a slot is, by its best code that some item can still have, or by its best code of all
    (paper, whose search knows no items)."""
    only_real_items: bool = True
    """Only IDs some catalogue item has; False is the paper's literal search, which may return IDs of no item."""
    method: Literal["beam", "score-fitting", "score-all"] = "beam"
    """`score-fitting`: fill one slot, then score every item that fits (2 passes). `score-all`: score every item from
    one pass. Both are approximations of the beam search that never leave the catalogue."""
    narrowing: tuple[int, ...] | None = None
    """Beam size per filled slot instead of one size for all, for example (50, 50, 20, 10)."""
    lazy: bool | None = None
    """Expand the best beams first, stop when no other beam can matter: the same result. None: where a beam is dear."""

    def plan(self, k: int, n_codes: int) -> SearchPlan:
        """These settings as the search's plain numbers; what cannot be done is refused."""
        # one beam is greedy search, which has one answer (the paper's ablation); other beams are never fewer than k
        k = 1 if self.beam_size == 1 and self.method == "beam" else k
        return SearchPlan(
            n_codes=n_codes,
            k=k,
            n_steps=self.n_steps or n_codes,
            beam_size=max(self.beam_size, k),
            order=self.order,
            confidence=self.confidence,
            narrowing=self.narrowing,
            lazy_block=LAZY_BLOCK if self.lazy else 0,
        )


class LeftToRightSearch(SearchSettings):
    """The search of models that learned to write an ID from its first code to its last: only the beams are free."""

    n_steps: None = None
    """One forward pass per code, always."""
    order: Literal["left-to-right"] = "left-to-right"
    """Each code was learned behind those before it."""
    confidence: Literal["valid"] = "valid"
    """The order is fixed, so nobody asks."""
    only_real_items: Literal[True] = True
    """Only beginnings of IDs that some catalogue item has."""
    method: Literal["beam"] = "beam"
    """A code is known only behind the ones before it, so whole IDs cannot be scored from one pass."""
    lazy: Literal[False] = False
    """All beams of a step are read together."""


@dataclass(frozen=True)
class Generation:
    """One user's generation: what was returned, and how the search got there."""

    ranking: Ranking
    trace: Trace
    constraint: UserConstraint
    """Which items the user may get; knows what still fits a candidate."""
    titles: Sequence[str] = field(default=(), repr=False, compare=False)
    """Of the catalogue's items; a model that explains itself puts them here."""

    def in_words(self, titles: Sequence[str] | None = None) -> list[str]:
        """The steps, drawn line by line; `titles` name the catalogue's items."""
        return draw(tell(self.trace, self.titles if titles is None else titles, self.constraint))

    def __repr__(self) -> str:
        """Where it knows the titles, it draws itself."""
        head = f"Generation({int((self.ranking.items >= 0).sum())} items in {len(self.trace.steps)} steps)"
        return "\n".join([head, *self.in_words()]) if len(self.titles) else head

    def _repr_html_(self) -> str:
        return html_lines(repr(self))


@dataclass(frozen=True)
class Ask:
    """Users whose histories have one length, as a network wants them."""

    items: Tensor  # (users, length) int64, newest last
    users: tuple[str, ...] | None


class Watched:
    """A predict function whose first answer is looked at: weights that are not numbers find nothing and say nothing."""

    def __init__(self, predict: Predict) -> None:
        self._predict = predict
        self._broken: Tensor | None = None

    def __call__(self, codes: Tensor, slots: Tensor) -> Tensor:
        answer = self._predict(codes, slots)
        if self._broken is None:
            self._broken = answer.isnan().any()  # stays on the device: the search does not wait for it
        return answer

    def check(self) -> None:
        """After the search."""
        if self._broken is not None and bool(self._broken):
            raise TrainingError("the model's scores are not numbers; train it again with a lower learning rate.")


@dataclass(frozen=True)
class IdSearch:
    """A search over a catalogue's IDs; the model is the function that predicts codes."""

    space: ItemSearchSpace
    settings: SearchSettings
    predict: Callable[[Ask], Predict]
    max_history: int
    users_at_once: int
    device: torch.device | None = None
    """Where `predict` answers and the search runs (None: here); only what was found comes back."""
    dear_beams: bool = False
    """Whether a beam costs so much that asking for the best ones first pays."""

    def rank(self, request: Request) -> Ranking:
        return self.report(request).ranking

    @torch.inference_mode()
    def report(self, request: Request) -> RankReport:
        """The ranking, with the generated IDs behind it; an ID of no item takes no rank."""
        n_users, k = len(request), request.k
        items = np.full((n_users, k), -1, dtype=np.int32)
        scores = np.full((n_users, k), -np.inf, dtype=np.float32)
        codes = np.full((n_users, k, self.space.codes.shape[1]), -1, dtype=np.int32)
        invalid = np.zeros(n_users, dtype=np.int64)
        for rows in self._groups(request):
            part = request.take(rows)
            constraint = self.space.constraint(part.histories, part.allowed, part.exclude_seen)
            result = self._search(part, constraint)
            items[rows], scores[rows] = ranked_items(self.space.index, result, k, constraint)
            codes[rows, : result.codes.shape[1]] = result.codes.numpy()
            unknown = (self.space.index.find(result.codes) < 0) & result.found
            invalid[rows] = unknown.sum(1).numpy()
        generated = (codes[..., 0] >= 0).sum(1)
        return RankReport(Ranking(items, scores), generated, invalid, generated - distinct(codes), codes)

    @torch.inference_mode()
    def explain(self, request: Request) -> Generation:
        """The beam search of one user, traced."""
        settings = self.settings
        if settings.method != "beam":
            raise SettingsError(f"search.method is {settings.method}, which has no steps to explain; use beam.")
        constraint = self.space.constraint(request.histories, request.allowed, request.exclude_seen)
        limits = constraint if settings.only_real_items else None
        limits = None if limits is None else limits.to(self.device)
        predict, plan = Watched(self.predict(self._ask(request))), self._plan(request)
        result = search(predict, 1, plan, limits, device=self.device, trace=True).cpu()
        predict.check()
        assert result.trace is not None
        ranking = Ranking(*ranked_items(self.space.index, result, request.k, constraint))
        return Generation(ranking, result.trace, constraint)

    def _search(self, request: Request, constraint: UserConstraint) -> SearchResult:
        predict, plan = Watched(self.predict(self._ask(request))), self._plan(request)
        result = self._result(predict, len(request), plan, constraint.to(self.device))
        predict.check()
        return result

    def _result(self, predict: Predict, n_users: int, plan: SearchPlan, constraint: UserConstraint) -> SearchResult:
        if self.settings.method == "score-all":
            return score_all(predict, n_users, plan.k, constraint, device=self.device).cpu()
        if self.settings.method == "score-fitting":
            return score_fitting(predict, n_users, plan, constraint, device=self.device)
        limits = constraint if self.settings.only_real_items else None
        return search(predict, n_users, plan, limits, device=self.device).cpu()

    def _plan(self, request: Request) -> SearchPlan:
        plan = self.settings.plan(request.k, self.space.codes.shape[1])
        return replace(plan, lazy_block=LAZY_BLOCK) if self.settings.lazy is None and self.dear_beams else plan

    def _ask(self, request: Request) -> Ask:
        cut = request.histories.last(self.max_history)
        items = torch.from_numpy(cut.items.astype(np.int64)).view(len(cut), -1)
        return Ask(items, None if request.users is None else tuple(request.users))

    def _groups(self, request: Request) -> Iterator[NDArray[np.int64]]:
        """Users of equal (cut) length, so that nothing is padded; a bounded number at a time.

        More results than beams need more beams, so fewer users go together.
        """
        lengths = np.minimum(request.histories.lengths, self.max_history)
        at_once = max(1, self.users_at_once * self.settings.beam_size // self._plan(request).beam_size)
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            yield from np.array_split(rows, -(-len(rows) // at_once))


def distinct(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many different IDs each user got: codes (users, k, n_codes), -1 where there is none."""
    n_users, k, n_codes = codes.shape
    user = np.arange(n_users).repeat(k)
    rows = np.column_stack([user, codes.reshape(n_users * k, n_codes)])
    rows = rows[np.lexsort(rows.T)]  # equal ones of a user lie side by side
    first = np.append(True, (rows[1:] != rows[:-1]).any(1)) & (rows[:, 1] >= 0)
    return np.bincount(rows[first, 0], minlength=n_users)
