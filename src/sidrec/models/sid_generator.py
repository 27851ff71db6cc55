"""A model that generates semantic IDs: everything but its network, its objective and how it predicts codes."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, cast

import numpy as np
import polars as pl
import torch
from pydantic import Field
from torch import nn

from sidrec.core.artifacts import Artifact
from sidrec.core.choices import Between, OneOf, Space
from sidrec.core.errors import TrainingError
from sidrec.core.progress import Progress
from sidrec.core.settings import SEARCH, Settings
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Cases, Dataset
from sidrec.data.histories import MOST_HISTORY
from sidrec.data.item_filter import FilterLike
from sidrec.decoding.diffusion import Predict
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.given_vectors import GivenVectors
from sidrec.metrics.ranking import ndcg_at, ranks_of
from sidrec.models.base import Recommender
from sidrec.models.capabilities import AddsItems, Explains, HasSemanticIds, LearnsOn, ReportsRanks
from sidrec.models.content import PREFIX, named_content
from sidrec.models.growth import Growth
from sidrec.models.id_search import Ask, Generation, IdSearch, SearchSettings
from sidrec.models.inherit import inherit
from sidrec.models.item_ids import ItemIds
from sidrec.models.model_files import WEIGHTS_FILE
from sidrec.models.ranking import Ranking, RankReport
from sidrec.models.request import Request
from sidrec.models.searching import SearchesBySettings
from sidrec.models.stock import Stock
from sidrec.models.successor import refuse_other_ids
from sidrec.sids.given_ids import IdSource
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.tokenize import TokenizeSettings
from sidrec.training.loop import train
from sidrec.training.objective import Objective
from sidrec.training.options import TrainingOptions
from sidrec.training.weights import restored, write_weights

METRIC: Literal["ndcg@10"] = "ndcg@10"
Network = TypeVar("Network", bound=nn.Module)
Validate = Callable[[nn.Module], dict[str, float]]


class SidTraining(TrainingOptions):
    """The loop's options; the best epoch by validation is kept."""

    metric: Literal["ndcg@10"] | None = METRIC
    patience: int | None = Field(default=20, ge=1)


class SidGeneratorSettings(Settings):
    """What every model that generates semantic IDs has."""

    max_history: int = Field(20, ge=1, le=MOST_HISTORY)
    """Newest items of a user that the model looks at."""
    search: Annotated[SearchSettings, SEARCH] = SearchSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    tokenize: TokenizeSettings = TokenizeSettings()
    validation_users: int = Field(1000, ge=1)
    """A fixed random sample of this many users selects the best epoch by NDCG@10."""
    validation_beam: int = Field(10, ge=10)
    training: SidTraining = SidTraining()
    tuned: ClassVar[Space] = {
        "max_history": OneOf((10, 20, 50)),
        "dropout": Between(0.0, 0.4),
        "training.batch_size": OneOf((256, 512, 1024)),
        "training.learning_rate": Between(3e-4, 1e-2, log=True),
        "training.weight_decay": OneOf((0.0, 0.01, 0.05, 0.1)),
    }


class SidGenerator(
    SearchesBySettings, Recommender, HasSemanticIds, ReportsRanks, Explains, AddsItems, LearnsOn, Generic[Network]
):
    """Embeds, tokenizes and trains by itself, and generates the codes of real items."""

    settings_class: ClassVar[type[Settings]] = SidGeneratorSettings
    settings: SidGeneratorSettings

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        """Settings may be named one by one; those of the search directly, such as `beam_size=20`."""
        fields = self._search_class().model_fields
        named = {name: values.pop(name) for name in list(values) if name in fields}
        if named:
            values["search"] = {**dict(values.get("search", {})), **named}
        super().__init__(settings, **values)
        self.network: Network | None = None
        self._given: ItemIds | None = None

    # ---- what a model supplies --------------------------------------------------------------------------------------

    @abstractmethod
    def _build(self, ids: SemanticIds) -> Network:
        """A fresh network for these IDs."""

    @abstractmethod
    def _objective(self, data: Dataset, ids: SemanticIds, validate: Validate | None) -> Objective:
        """What the network is trained on."""

    @abstractmethod
    def _predict(self, network: Network, ask: Ask, search: SearchSettings) -> Predict:
        """The function that the search asks, for users with histories of one length."""

    @abstractmethod
    def _users_at_once(self, network: Network, search: SearchSettings) -> int:
        """How many users go into one search."""

    def _dear_beams(self, network: Network, search: SearchSettings) -> bool:  # noqa: ARG002
        """Whether most of a search's time goes into single beams."""
        return False

    @abstractmethod
    def _with_items(self, network: Network, ids: SemanticIds) -> Network:
        """The network for a catalogue that has grown: the same weights; the given one, which others may hold, stays."""

    @classmethod
    def ids_by(cls, settings: Settings) -> tuple[EmbeddingSettings, TokenizeSettings] | None:
        assert isinstance(settings, SidGeneratorSettings)
        return settings.embedding, settings.tokenize

    # ---- learning ---------------------------------------------------------------------------------------------------

    def use_semantic_ids(self, source: IdSource, data: Dataset) -> None:
        refuse_other_ids(self._start)
        self._given = ItemIds.take(source, data.catalog)

    @property
    def training_options(self) -> TrainingOptions:
        return self.settings.training

    def _check(self, data: Dataset) -> None:
        super()._check(data)
        known = self._given or (None if self._start is None else self._start.stock.ids)
        n_codes = self.settings.tokenize.check(data.n_items) if known is None else known.semantic_ids.n_codes
        self.search.plan(1, n_codes)

    def _fit(self, data: Dataset, workdir: Path | None, progress: Progress) -> ItemIds:
        settings, options = self.settings, self.settings.training
        if self._given is not None:
            self._given.check_catalog(data.catalog, "the given IDs")
        known = self._given or (ItemIds.read_files(self._earlier) if self._earlier else None)
        made = known or self._made_ids(data, workdir, progress)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(options.seed)
            network = self._build(made.semantic_ids)
        if self._start is not None:
            inherit(network, cast(Self, self._start)._fitted())
        cases = _sample(data.cases("validation"), settings.validation_users)
        if not len(cases):
            options = options.model_copy(update={"metric": None, "patience": None})
        validate = self._validation(made, cases, data) if len(cases) else None
        objective = self._objective(data, made.semantic_ids, validate)
        result = train(network, objective, options, workdir=workdir, progress=progress, name=self.key)
        self._training = result.summary()
        self.network = network.cpu().eval()
        return made

    def _made_ids(self, data: Dataset, workdir: Path | None, progress: Progress) -> ItemIds:
        """Those of the model it begins with and, for new items, more of them; or such that it makes itself."""
        embedding, start = self.settings.embedding, self._start
        if start is None:
            return ItemIds.make(data, embedding, self.settings.tokenize, progress, self.ingredients or workdir)
        growth = Growth(start.catalog, data.catalog)
        progress.note(f"{self.key}: {growth.words}")
        assert start.stock.ids is not None
        return start.stock.ids.grown(growth, growth.given(embedding))

    def _validation(self, ids: ItemIds, cases: Cases, data: Dataset) -> Validate:
        """NDCG@10 of the default search with few beams: how a model is asked later must not decide what it learns."""
        search = self._search_class()(beam_size=self.settings.validation_beam)
        request = Request(cases.histories, 10, users=data.user_ids.gather(cases.users).to_list())

        def validate(module: nn.Module) -> dict[str, float]:
            try:
                ranking = self._id_search(cast(Network, module), ids, search).rank(request)
            except TrainingError:  # not numbers any more: no epoch to keep; the loop says so at its next step
                return {METRIC: 0.0}
            return {METRIC: ndcg_at(ranks_of(ranking.items, cases.targets), 10)}

        return validate

    # ---- recommending -----------------------------------------------------------------------------------------------

    @property
    def search(self) -> SearchSettings:
        return self.settings.search

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
        stock = self.stock
        request = stock.asked_for_one(history, k, allow, deny, exclude_seen=exclude_seen).by(user)
        found = self._searcher(request, stock).explain(request)
        return dataclasses.replace(found, titles=stock.catalog.titles)

    def _rank(self, request: Request, stock: Stock) -> Ranking:
        return self._searcher(request, stock).rank(request)

    def rank_report(self, request: Request) -> RankReport:
        stock = self.stock
        return self._searcher(request, stock).report(request.without(stock.removed))

    def _searcher(self, request: Request, stock: Stock) -> IdSearch:
        assert stock.ids is not None
        search = self.search if request.search is None else cast(SearchSettings, self.parsed_search(request.search))
        return self._id_search(self._fitted(), stock.ids, search)

    def _id_search(self, network: Network, ids: ItemIds, search: SearchSettings) -> IdSearch:
        def predict(ask: Ask) -> Predict:
            return self._predict(network, ask, search)

        return IdSearch(
            ids.search_space,
            search,
            predict,
            self.settings.max_history,
            self._users_at_once(network, search),
            next(network.parameters()).device,
            self._dear_beams(network, search),
        )

    @classmethod
    def _search_class(cls) -> type[SearchSettings]:
        found: Any = cls.settings_class.model_fields["search"].annotation
        return cast(type[SearchSettings], found)

    def _fitted(self) -> Network:
        if self.network is None:
            raise self._not_fitted()
        return self.network

    @property
    def semantic_ids(self) -> SemanticIds:
        ids = self.stock.ids
        assert ids is not None
        return ids.semantic_ids

    # ---- a catalogue that changes -----------------------------------------------------------------------------------

    def _with_new_items(self, stock: Stock, frame: pl.DataFrame, given: GivenVectors | None) -> Stock:
        """New items get IDs by the frozen tokenizer."""
        assert stock.ids is not None
        grown = stock.ids.with_new_items(frame, given)
        changed = stock.with_items(frame, grown)
        self.network = self._with_items(self._fitted(), grown.semantic_ids)
        return changed

    # ---- files ------------------------------------------------------------------------------------------------------

    def _embeds_by(self) -> EmbeddingSettings | None:
        return self.settings.embedding if self._given is None else None

    def named_content(self) -> dict[str, str]:
        if self._content is None:
            both = None if self._given is not None else self.settings.tokenize.collaborative
            found = super().named_content()
            self._content = found if both is None else {**found, **named_content(both, f"{PREFIX}collaborative.")}
        return self._content

    def _made_from(self) -> dict[str, str]:
        return {"sids": self._given.given} if self._given is not None else {}

    def _write_files(self, directory: Path) -> None:
        write_weights(self._fitted(), directory / WEIGHTS_FILE)

    def _read_files(self, artifact: Artifact, catalog: Catalog) -> ItemIds:
        ids = ItemIds.read_files(artifact)
        ids.check_catalog(catalog, str(artifact.path))
        self._given = ids if ids.given else None
        self.network = restored(lambda: self._build(ids.semantic_ids), artifact.file(WEIGHTS_FILE)).eval()
        return ids


def _sample(cases: Cases, size: int) -> Cases:
    """The same users in every run, whatever the seed."""
    order = np.random.default_rng(0).permutation(len(cases))
    return cases.take(np.sort(order[:size]))
