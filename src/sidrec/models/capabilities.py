"""What some models can do beyond ranking. A model says so by inheriting; callers ask with `isinstance`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.progress import Progress
from sidrec.core.settings import Settings
from sidrec.data.dataset import Dataset
from sidrec.data.item_filter import FilterLike
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.given_vectors import GivenVectors
from sidrec.models.id_search import Generation
from sidrec.models.ranking import RankReport
from sidrec.models.request import Request
from sidrec.sids.given_ids import IdSource
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.tokenize import TokenizeSettings

if TYPE_CHECKING:
    from sidrec.models.stock import Stock


class HasSemanticIds(ABC):
    """Knows its items by codes."""

    @property
    @abstractmethod
    def semantic_ids(self) -> SemanticIds: ...

    @classmethod
    def ids_by(cls, settings: Settings) -> tuple[EmbeddingSettings, TokenizeSettings] | None:  # noqa: ARG003
        """How a model with these settings makes its IDs, so that models can share them; None where it does not."""
        return None

    @abstractmethod
    def use_semantic_ids(self, source: IdSource, data: Dataset) -> None:
        """Take ready semantic IDs of this data instead of making them, before `fit`: a directory, a table, a value."""


class HasItemVectors(ABC):
    """Knows its items by vectors."""

    @abstractmethod
    def item_vectors(self) -> NDArray[np.float32]:
        """One learned vector per item, (n_items, width)."""


class AddsItems(ABC):
    """Can recommend new items without training: `add_items` takes them in."""

    @abstractmethod
    def _with_new_items(self, stock: Stock, frame: pl.DataFrame, given: GivenVectors | None) -> Stock:
        """The stock with these rows of its catalogue's columns behind the old ones; raises and changes nothing, or all.

        Whatever the model holds by item has grown when this comes back.
        """


class LearnsOn:
    """Can begin with what an earlier one of its kind has learned: `successor` gives such a model."""


class Searches(ABC):
    """Generates its answers by a search that can be run in different ways."""

    @property
    @abstractmethod
    def search(self) -> Settings:
        """How it searches unless asked otherwise."""

    @abstractmethod
    def parsed_search(self, search: Settings | Mapping[str, Any]) -> Settings:
        """The named settings over the model's own; wrong ones are reported."""

    @abstractmethod
    def with_search(self, search: Settings | Mapping[str, Any]) -> Self:
        """The same model, weights shared, that searches in another way; what is not named stays."""


class ReportsRanks(ABC):
    """Can tell what its search did beyond the ranking."""

    @abstractmethod
    def rank_report(self, request: Request) -> RankReport:
        """The ranking with the generated IDs behind it; every history needs at least one item."""


class Explains(ABC):
    """Generates step by step, and can show the steps."""

    @abstractmethod
    def explain(
        self,
        history: Sequence[str],
        k: int = 10,
        *,
        exclude_seen: bool = False,
        allow: FilterLike | None = None,
        deny: FilterLike | None = None,
        user: str | None = None,
    ) -> Generation:
        """One generation with everything that happened in it."""


class Steers(ABC):
    """Can recommend under a condition: only items that agree with a given one in what is kept."""

    @abstractmethod
    def steered(self, like: str, keep: Sequence[int | str]) -> Self:
        """The same model, weights shared, that only recommends items like this one in what is kept.

        `keep` are slots of its code, counted from 1, and columns of the catalogue such as brand.
        """


class Exports(ABC):
    """Can be run by other engines than torch."""

    engine: str

    @abstractmethod
    def export(self, out: Path, progress: Progress | None = None) -> Path:
        """Write the network's graphs as an artefact."""

    @abstractmethod
    def with_engine(self, engine: str, graphs: Path | None = None, progress: Progress | None = None) -> Self:
        """The same model run by `torch`, `onnx` (ONNX Runtime) or `openvino`."""
