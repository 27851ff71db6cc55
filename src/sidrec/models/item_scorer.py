"""Base of the item-ID models: a network gives users and items vectors, the best items are the nearest."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator
from torch import Tensor

from sidrec.core.artifacts import Artifact
from sidrec.core.choices import Between, OneOf, Space
from sidrec.core.progress import Progress
from sidrec.core.settings import RUN, Settings
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Cases, Dataset
from sidrec.data.histories import MOST_HISTORY
from sidrec.decoding.nearest import NearestItems, best_candidates, n_candidates
from sidrec.decoding.top_k import top_items
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.models.base import Recommender
from sidrec.models.capabilities import HasItemVectors, LearnsOn
from sidrec.models.growth import Growth
from sidrec.models.inherit import inherit_items
from sidrec.models.item_features import Describer, ItemFacts, ItemVectorSettings, saved_ids
from sidrec.models.item_ids import ItemIds
from sidrec.models.item_objective import METRIC, ItemNetwork, ItemObjective, scores_of, user_queries
from sidrec.models.model_files import WEIGHTS_FILE
from sidrec.models.ranking import Ranking
from sidrec.models.request import Request
from sidrec.models.stock import Stock
from sidrec.nn.item_vectors import ItemFeatures, ItemVectors
from sidrec.nn.repeats import RepeatKind, RepeatTerm
from sidrec.sids.tokenize import TokenizeSettings
from sidrec.training.loop import train
from sidrec.training.options import TrainingOptions
from sidrec.training.weights import restored, write_weights


class ItemTraining(TrainingOptions):
    """The loop's options with defaults that suit small item-ID models; the best epoch by validation is kept."""

    epochs: int = Field(default=30, ge=1)
    batch_size: int = Field(default=256, ge=1)
    learning_rate: float = Field(default=2e-3, gt=0)
    betas: tuple[float, float] = (0.9, 0.98)
    metric: Literal["ndcg@10"] | None = METRIC
    validate_every: int = Field(default=2, ge=1)


class ItemScorerSettings(Settings):
    """What every item-ID model has."""

    d_model: int = Field(64, ge=1)
    n_layers: int = Field(2, ge=1)
    dropout: float = Field(0.3, ge=0, lt=1)
    max_history: int = Field(20, ge=1, le=MOST_HISTORY)
    """Newest items of a user that the model looks at."""
    item_vectors: ItemVectorSettings = ItemVectorSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    """How text becomes vectors, for item vectors made of text or codes."""
    tokenize: TokenizeSettings = TokenizeSettings(tokenizer="opq")
    """How these become codes."""
    repeat: RepeatKind = "off"
    """A learned term for the items of the history: one number (`once`), or by how long ago the item was (`by-age`)."""
    validation_users: int = Field(2000, ge=1)
    """Size of the fixed random sample of users on which the best epoch is chosen."""
    index_from: Annotated[int | None, RUN] = Field(1_000_000, ge=1)
    """Items from which the best are looked for by a compressed scan and then scored exactly; null scores all."""
    training: ItemTraining = Field(default_factory=ItemTraining)
    tuned: ClassVar[Space] = {
        "d_model": OneOf((32, 64, 128, 256)),
        "n_layers": OneOf((1, 2, 3)),
        "dropout": Between(0.1, 0.6),
        "max_history": OneOf((10, 20, 50)),
        "training.batch_size": OneOf((128, 256, 512)),
        "training.learning_rate": Between(3e-4, 1e-2, log=True),
        "training.weight_decay": OneOf((0.0, 0.01, 0.05, 0.1)),
    }

    def vectors(self, n_items: int, features: ItemFeatures, n_extra: int = 0) -> ItemVectors:
        """The items' table as set; `n_extra` rows stand for no item."""
        parts = self.item_vectors
        return ItemVectors(
            n_items,
            self.d_model,
            features,
            identity=parts.identity,
            identity_dropout=parts.identity_dropout,
            n_extra=n_extra,
        )

    def repeat_term(self) -> RepeatTerm | None:
        return None if self.repeat == "off" else RepeatTerm(self.repeat)


class AttentionSettings(ItemScorerSettings):
    """What the item-ID models with attention have in addition."""

    n_heads: int = Field(2, ge=1)
    tuned: ClassVar[Space] = {**ItemScorerSettings.tuned, "n_heads": OneOf((1, 2, 4))}

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Self:
        if self.d_model % self.n_heads:
            raise ValueError(f"n_heads = {self.n_heads} does not divide d_model = {self.d_model}")
        return self


class ItemScorer(Recommender, HasItemVectors, LearnsOn):
    """Fits a network on THE loop and ranks by dot products; a model adds its network and its training task."""

    settings_class: ClassVar[type[Settings]] = ItemScorerSettings
    settings: ItemScorerSettings
    network: ItemNetwork | None = None

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        self._facts = ItemFacts()
        self._given: ItemIds | None = None
        self._near: tuple[ItemNetwork, NearestItems] | None = None

    @property
    def training_options(self) -> TrainingOptions:
        return self.settings.training

    @abstractmethod
    def _build(self, n_items: int, features: ItemFeatures) -> ItemNetwork:
        """A fresh network."""

    @abstractmethod
    def _objective(self, data: Dataset, validation: Cases, features: ItemFeatures) -> ItemObjective[Any]:
        """What the network is trained on."""

    def _check(self, data: Dataset) -> None:
        super()._check(data)
        if self.settings.item_vectors.codes and self._given is None and self._start is None:
            self.settings.tokenize.check(data.n_items)

    def _fit(self, data: Dataset, workdir: Path | None, progress: Progress) -> ItemIds | None:
        parts, counts = self.settings.item_vectors, data.train_counts()
        if self._given is not None:
            self._given.check_catalog(data.catalog, "the given IDs")
        ids, facts = self._description(data, workdir, progress)
        features = facts.features(data.catalog, ids, counts >= parts.identity_from if parts.identity_from else None)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.settings.training.seed)
            network = self._build(data.n_items, features)
        if self._start is not None:
            inherit_items(network, cast(Self, self._start)._fitted(), Growth(self._start.catalog, data.catalog))
        options = self._trained_before(network, data, workdir, progress)
        objective = self._objective(data, self._validation_sample(data), features)
        result = train(network, objective, options, workdir=workdir, progress=progress, name=self.key)
        self._training = result.summary()
        self._facts, self.network = facts, network.eval()
        return ids

    def _description(self, data: Dataset, workdir: Path | None, progress: Progress) -> tuple[ItemIds | None, ItemFacts]:
        """What is known of the items: found in the model it goes on from, taken over, or made."""
        if self._earlier is not None:
            return saved_ids(self._earlier), ItemFacts.read_files(self._earlier)
        embedding, start = self.settings.embedding, cast(Self | None, self._start)
        if start is None:
            describer = Describer(self.settings.item_vectors, embedding, self.settings.tokenize)
            return describer.describe(data, progress, self.ingredients or workdir, self._given)
        growth, ids = Growth(start.catalog, data.catalog), start.stock.ids
        progress.note(f"{self.key}: {growth.words}")
        given = growth.given(embedding)
        return None if ids is None else ids.grown(growth, given), start._facts.grown(growth, given)

    def _trained_before(
        self,
        network: ItemNetwork,  # noqa: ARG002
        data: Dataset,  # noqa: ARG002
        workdir: Path | None,  # noqa: ARG002
        progress: Progress,  # noqa: ARG002
    ) -> TrainingOptions:
        """A pre-training happens here, where a model has one; what it leaves of the options comes back."""
        return self.settings.training

    def _embeds_by(self) -> EmbeddingSettings | None:
        parts = self.settings.item_vectors
        return self.settings.embedding if parts.text or (parts.codes and self._given is None) else None

    def _validation_sample(self, data: Dataset) -> Cases:
        """The same users in every run, whatever the seed."""
        cases = data.cases("validation")
        order = np.random.default_rng(0).permutation(len(cases))
        return cases.take(np.sort(order[: self.settings.validation_users]))

    @torch.no_grad()
    def _rank(self, request: Request, stock: Stock) -> Ranking:
        network = self._fitted()
        table = network.item_table()[: len(stock)]
        queries = self._queries(request, stock)
        n = n_candidates(request.k, len(table), request.allowed) if self._takes_index(table, queries) else None
        if n is None:
            return self._of_all(request, queries, table)
        found = self._nearest(network).candidates(queries.numpy(), n)
        ranking, sure = self._of_candidates(request, queries, table, found)
        unsure = np.flatnonzero(~sure)
        if len(unsure):
            rest = self._of_all(request.take(unsure), queries[torch.from_numpy(unsure)], table)
            ranking.items[unsure], ranking.scores[unsure] = rest.items, rest.scores
        return ranking

    def _of_all(self, request: Request, queries: Tensor, table: Tensor) -> Ranking:
        """Every item scored."""
        items, scores = top_items(
            scores_of(self._fitted(), queries, table, request.histories),
            request.histories,
            request.k,
            n_items=len(table),
            allowed=request.allowed,
            exclude_seen=request.exclude_seen,
        )
        return Ranking(items, scores)

    def _of_candidates(
        self, request: Request, queries: Tensor, table: Tensor, found: NDArray[np.int64]
    ) -> tuple[Ranking, NDArray[np.bool_]]:
        """The candidates scored exactly, and for whom filters left enough of them."""

        def score(rows: slice, items: Tensor) -> Tensor:
            return torch.bmm(table[items], queries[rows].unsqueeze(-1)).squeeze(-1)

        allowed = np.ones(len(table), dtype=bool) if request.allowed is None else request.allowed
        items, scores, sure = best_candidates(
            found,
            score,
            request.histories,
            request.k,
            allowed=allowed,
            exclude_seen=request.exclude_seen,
            bonus=self._fitted().repeat,
        )
        return Ranking(items, scores), sure

    def _takes_index(self, table: Tensor, queries: Tensor) -> bool:
        """The scan is for large catalogues in main memory; queries that are no numbers are left to be named."""
        limit, fits = self.settings.index_from, self._fitted().scores_are_products and table.device.type == "cpu"
        return limit is not None and len(table) >= limit and fits and bool(queries.isfinite().all())

    def _nearest(self, network: ItemNetwork) -> NearestItems:
        """Made at the first request after the network or its items changed."""
        if self._near is None or self._near[0] is not network:
            self._near = (network, NearestItems(network.item_table().float().numpy()))
        return self._near[1]

    def _queries(self, request: Request, stock: Stock) -> Tensor:  # noqa: ARG002
        """One vector per user."""
        return user_queries(self._fitted(), request.histories, self.settings.max_history)

    @torch.no_grad()
    def item_vectors(self) -> NDArray[np.float32]:
        """The vectors that user queries are compared with, (n_items, d_model)."""
        table = self._fitted().item_table()
        vectors: NDArray[np.float32] = table.float().cpu().numpy().copy()
        return vectors

    def _write_files(self, directory: Path) -> None:
        write_weights(self._fitted(), directory / WEIGHTS_FILE)
        self._facts.write_files(directory)

    def _read_files(self, artifact: Artifact, catalog: Catalog) -> ItemIds | None:
        ids, facts = saved_ids(artifact), ItemFacts.read_files(artifact)
        if ids is not None:
            ids.check_catalog(catalog, str(artifact.path))
        features = facts.features(catalog, ids)
        network = restored(lambda: self._build(len(catalog), features), artifact.file(WEIGHTS_FILE))
        self._given = ids if ids is not None and ids.given else None
        self._facts, self.network = facts, network.eval()
        return ids

    def _look_again(self, stock: Stock) -> None:
        """Attributes are codes of the items' vectors; text stays as it was read."""
        if self._facts.attributes is not None:
            network = self._fitted()
            items = network.items.grown(self._facts.features(stock.catalog, stock.ids), len(stock))
            self.network = network.with_items(items)

    def _fitted(self) -> ItemNetwork:
        if self.network is None:
            raise self._not_fitted()
        return self.network
