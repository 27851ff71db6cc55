"""From a question to a model's answer; questions that differ only in their history are computed together."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sidrec.core.errors import SettingsError
from sidrec.models.base import Recommender
from sidrec.models.capabilities import Explains, Searches, Steers
from sidrec.models.id_search import SearchSettings
from sidrec.serving.answers import recommended, steps_of
from sidrec.serving.model_store import LoadedModel
from sidrec.serving.questions import RecommendOptions
from sidrec.serving.schemas import Recommended

TOLD_BEAMS = 50
"""Candidates of a step that a trace tells of."""


@dataclass(frozen=True)
class Way:
    """Everything about a question but whose it is; equal ways go into one batch."""

    loaded: LoadedModel
    key: str
    names_users: bool
    options: RecommendOptions = field(compare=False)

    @classmethod
    def of(cls, loaded: LoadedModel, options: RecommendOptions, *, names_users: bool = False) -> Way:
        kept = {name for name in RecommendOptions.model_fields if name != "model"}
        return cls(loaded, options.model_dump_json(include=kept), names_users, options)

    def check(self) -> None:
        """Refuse what cannot be answered before it waits; new filters are made ready here, each in its own thread."""
        options = self.options
        self.loaded.stock.catalog.masks.allowed(options.allow, options.deny)
        _check_plan(self.loaded, options)
        self.model()

    def model(self) -> Recommender:
        """The model, or where it is steered a copy under that condition."""
        model, options = self.loaded.model, self.options
        if options.like is None or options.keep is None:
            return model
        if not isinstance(model, Steers):
            raise SettingsError(f"{self.loaded.name} ({model.key}) cannot be steered; leave out like and keep.")
        steered: Recommender = model.steered(options.like, options.keep)
        return steered

    def arguments(self) -> dict[str, Any]:
        options = self.options
        return {
            "k": options.k,
            "exclude_seen": options.exclude_seen,
            "allow": options.allow,
            "deny": options.deny,
        }


@dataclass(frozen=True)
class Somebody:
    """Whose next items."""

    history: tuple[str, ...]
    user_id: str | None = None


def answer_batch(way: Way, several: Sequence[Somebody]) -> list[Recommended]:
    """One computation for all of them."""
    model = way.model()
    users = [str(somebody.user_id) for somebody in several] if way.names_users else None
    histories = [somebody.history for somebody in several]
    answer = model.recommend(histories, **way.arguments(), users=users, search=way.options.search or None)
    return [recommended(model, history, answer, row) for row, history in enumerate(histories)]


def answer_traced(way: Way, somebody: Somebody) -> Recommended:
    """One user's list, and how it was generated; both by the same version of the catalogue."""
    model, options = copy.copy(way.model()), way.options
    if not isinstance(model, Explains):
        raise SettingsError(f"{way.loaded.name} ({model.key}) does not generate step by step; leave out trace.")
    users = [somebody.user_id] if somebody.user_id is not None else None
    found = model.recommend([somebody.history], **way.arguments(), users=users, search=options.search or None)
    if found.fallback[0]:
        return recommended(model, somebody.history, found)
    asked = model.with_search(options.search) if options.search and isinstance(model, Searches) else model
    assert isinstance(asked, Explains)
    generation = asked.explain(somebody.history, **way.arguments())
    steps = steps_of(generation, way.loaded.stock.catalog.titles, n_beams=TOLD_BEAMS)
    return recommended(model, somebody.history, found, steps=steps)


def _check_plan(loaded: LoadedModel, options: RecommendOptions) -> None:
    """Steps and beams that cannot be, before anything is computed."""
    model, ids = loaded.model, loaded.stock.ids
    if options.search and not isinstance(model, Searches):
        names = ", ".join(options.search)
        raise SettingsError(f"{loaded.name} ({model.key}) does not search; leave out {names}.")
    if isinstance(model, Searches):
        search = model.parsed_search(options.search)
        if isinstance(search, SearchSettings) and ids is not None:
            search.plan(options.k, ids.semantic_ids.n_codes)
