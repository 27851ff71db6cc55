"""What models are made of, as stages: data, item vectors (from text, from a file, from a trained model), semantic IDs.

    data ──────────────┬──────────────┬───────────────┐
      └─ vectors ── semantic IDs ── model ── vectors ── semantic IDs ── model

Vectors come from the text of the items, from a file, or from a model that is trained first (`embedding.from_model`);
everything behind them is the same. `fit` makes what it needs by this page, and so do the command line and benchmarks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sidrec.core.artifacts import ensure
from sidrec.core.errors import InputError, SettingsError
from sidrec.core.mirroring import local
from sidrec.core.progress import Progress
from sidrec.core.stages import Stage, named
from sidrec.data.dataset import Dataset
from sidrec.embeddings.embed import embed_catalog
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.given_vectors import GivenVectors
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.models.capabilities import HasItemVectors, HasSemanticIds
from sidrec.sids.tokenize import TokenizeSettings, tokenize
from sidrec.sids.tokenized_items import TokenizedItems
from sidrec.training.distributed import leads
from sidrec.training.together import leader_first

if TYPE_CHECKING:
    from sidrec.models.base import Recommender


@dataclass(frozen=True)
class Data(Stage[Dataset]):
    """A dataset that is there, in memory or in its place."""

    room: ClassVar[str] = "data"
    label: str
    found: Dataset | None = None

    @property
    def name(self) -> str:
        return self.label

    def make(self, out: Path | None, progress: Progress, *needed: Any) -> Dataset:  # noqa: ARG002
        if self.found is None:
            assert out is not None
            return Dataset.load(out)
        return self.found


@dataclass(frozen=True)
class Vectors(Stage[ItemEmbeddings]):
    """One vector per item."""

    room: ClassVar[str] = "embeddings"
    data: Data
    settings: EmbeddingSettings

    @property
    def name(self) -> str:
        source = self.settings.from_model or self.settings.encoder
        return named(f"{self.data.name}-{_plain(source)}", self.settings.method_values())

    @property
    def words(self) -> str:
        source = self.settings.from_model
        return f"item vectors by {self.settings.encoder}" if source is None else f"item vectors, those of {source}"

    @property
    def needs(self) -> tuple[Stage[Any], ...]:
        source = self.settings.from_model
        if source is None:
            return (self.data,)
        return (self.data, model_named(self.data, source, self.settings.model_settings))

    def make(self, out: Path | None, progress: Progress, *needed: Any) -> ItemEmbeddings:
        dataset, *source = needed
        given = vectors_of(source[0]) if source else None
        with leader_first():
            return embed_catalog(dataset.catalog, self.settings, progress, out, given)


@dataclass(frozen=True)
class Ids(Stage[TokenizedItems]):
    """A semantic ID for every item; wrong settings of the tokenizer are said at once."""

    room: ClassVar[str] = "sids"
    vectors: Vectors
    settings: TokenizeSettings

    def __post_init__(self) -> None:
        self.settings.build().check_inputs(collaborative=self.settings.collaborative is not None)

    @property
    def name(self) -> str:
        values = {"made of": [stage.name for stage in self.needs], **self.settings.method_values()}
        return named(f"{self.vectors.data.name}-{self.settings.tokenizer}", values)

    @property
    def words(self) -> str:
        return f"semantic IDs by {self.settings.tokenizer}"

    @property
    def needs(self) -> tuple[Stage[Any], ...]:
        data, both = self.vectors.data, self.settings.collaborative
        return (data, self.vectors) if both is None else (data, self.vectors, Vectors(data, both))

    def make(self, out: Path | None, progress: Progress, *needed: Any) -> TokenizedItems:
        dataset, vectors, *more = needed
        return tokenize(vectors, self.settings, progress, out, dataset.catalog.titles, *more)


@dataclass(frozen=True)
class TrainedModel(Stage["Recommender"]):
    """A model of the registry, fitted; with `ids` it does not make its own."""

    room: ClassVar[str] = "models"
    data: Data
    key: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    ids: Ids | None = None
    seed: int = 0
    """Part of the name, so that models without a seed of their own are told apart too."""

    @cached_property
    def name(self) -> str:
        """The same method within the same minutes is the same model."""
        from sidrec.models.registry import find_model

        minutes = dict(self.settings.get("training", {})).get("minutes")
        method = find_model(self.key).settings(self.settings, where=self.key).method_values()
        return named(f"{self.data.name}-{self.key}-seed{self.seed}", {"settings": method, "minutes": minutes})

    @property
    def words(self) -> str:
        return f"a trained {self.key}"

    @property
    def needs(self) -> tuple[Stage[Any], ...]:
        return (self.data,) if self.ids is None else (self.data, self.ids)

    def make(self, out: Path | None, progress: Progress, *needed: Any) -> Recommender:
        from sidrec.models.registry import find_model, model_from

        dataset, *ids = needed
        model = find_model(self.key).build(self.settings, where=self.key)
        if ids and isinstance(model, HasSemanticIds):
            model.use_semantic_ids(ids[0], dataset)
        if out is None:
            return model.fit(dataset, progress=progress)
        origin, alone = model.origin(dataset.fingerprint), leads()
        make = partial(model.fit, dataset, out=out, progress=progress)
        return ensure(out, origin, make, model_from, alone=alone, gives_way=model.gives_way(dataset.fingerprint))


@dataclass(frozen=True)
class SavedModel(Stage["Recommender"]):
    """A model that somebody trained."""

    room: ClassVar[str] = "saved"
    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    def make(self, out: Path | None, progress: Progress, *needed: Any) -> Recommender:  # noqa: ARG002
        from sidrec.models.registry import load_model

        return load_model(self.path)


def model_named(data: Data, name: str, settings: Mapping[str, Any]) -> TrainedModel | SavedModel:
    """The stage behind `embedding.from_model`: a key of the registry is trained, a directory is loaded."""
    if not is_saved(name):
        return TrainedModel(data, name, settings, seed=dict(settings.get("training", {})).get("seed", 0))
    if settings:
        raise SettingsError(f"embedding.model_settings: {name} is trained already; leave them out.")
    return SavedModel(local(name))


def is_saved(name: str) -> bool:
    """Whether a model is named by its directory; a key means the key, also where a directory is called the same."""
    from sidrec.models.registry import find_model

    try:
        find_model(name)
    except SettingsError:
        if not local(name).is_dir():
            raise
        return True
    return False


def vectors_of(model: Recommender) -> GivenVectors:
    """A trained model's item vectors."""
    if not isinstance(model, HasItemVectors):
        raise InputError(f"{model.key} has no item vectors; use an item-ID model such as sasrec.")
    return GivenVectors(model.item_vectors(), f"model {model.key}", model.catalog.item_ids.to_list())


def in_memory(data: Dataset) -> Data:
    """Named after its directory where it has one, so that what is made of it is found by that name."""
    return Data(data.fingerprint[:8] or "data" if data.path is None else data.path.name, data)


def inside(folder: Path | None) -> Callable[[Stage[Any]], Path | None]:
    """Places for everything that is made, in a folder that goes when the work is done."""
    return lambda stage: None if folder is None else folder / stage.room / stage.name


def _plain(text: str) -> str:
    """As part of a file name."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")[-40:] or "x"
