"""How a model is judged: which held-out item, among which candidates, at which places."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, field_validator

from sidrec.core.settings import RUN, Seed, Settings
from sidrec.data.dataset import Cases, Dataset, Split


class EvaluationSettings(Settings):
    """Full ranking over the whole catalogue, no sampled negatives (paper, Sec. 5.1)."""

    split: Split = "test"
    ks: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = (1, 5, 10)
    exclude_seen: bool = False
    """Leave a user's own history out of the candidates; the paper does not."""
    users: int | None = Field(None, ge=1)
    """Judge on a random sample of this many users; None takes all."""
    seed: Seed = 0
    """Of the user sample and of the bootstrap."""
    bootstrap: int = Field(2000, ge=100)
    """Resamples behind each interval."""
    chunk: Annotated[int, RUN] = Field(1024, ge=1)
    """Users ranked between two saved parts; changes nothing in the result."""

    @field_validator("ks")
    @classmethod
    def _ascending(cls, ks: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(ks)))

    @property
    def depth(self) -> int:
        """How far down a ranking is looked at."""
        return self.ks[-1]


def select_cases(data: Dataset, settings: EvaluationSettings) -> Cases:
    """The users to judge, in user order."""
    cases = data.cases(settings.split)
    if settings.users is None or settings.users >= len(cases):
        return cases
    chosen = np.random.default_rng(settings.seed).choice(len(cases), settings.users, replace=False)
    return cases.take(np.sort(chosen))
