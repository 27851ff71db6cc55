"""What every recommender is: fit on a dataset, recommend item ids, save, load."""

from __future__ import annotations

import dataclasses
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sidrec.core.artifacts import Artifact, Origin, forget_work, opened, write
from sidrec.core.errors import InputError, SettingsError
from sidrec.core.locks import locked
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.replacing import GivesWay, refuse_other, replacing
from sidrec.core.settings import LENGTH, RATE, Mark, Settings
from sidrec.core.settings_table import in_brief
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories
from sidrec.data.item_filter import FilterLike
from sidrec.embeddings.embed import EmbeddingSettings
from sidrec.models.capabilities import Searches
from sidrec.models.content import PREFIX, named_content
from sidrec.models.item_ids import ItemIds
from sidrec.models.model_files import (
    data_from,
    data_path,
    in_words,
    leads,
    read_stock,
    read_training,
    stored_settings,
    take_up,
    training_directory,
    write_facts,
    write_stock,
)
from sidrec.models.ranking import Ranking, Recommendations
from sidrec.models.records import Records
from sidrec.models.request import Request, check_asked
from sidrec.models.standing import Standing, gives_way, standing
from sidrec.models.stock import Stock
from sidrec.training import checkpoints
from sidrec.training.loop import check_machine
from sidrec.training.options import TrainingOptions


class Recommender(ABC):
    """Base of every model of the registry.

    A subclass names its `Settings`, learns in `_fit`, ranks item indices in `_rank`, and writes and reads its own
    files; ids, titles, filters, fallbacks and the artefact are handled here, once. What it can do beyond that it says
    by the capabilities it inherits.
    """

    key: str
    """Its row of the registry: the one its class is known by, or another row of the same class."""
    settings_class: ClassVar[type[Settings]] = Settings

    def __init__(self, settings: Settings | None = None, *, key: str | None = None, **values: Any) -> None:
        if settings is not None and values:
            raise SettingsError("give either a settings object or single settings, not both.")
        self.key = key or self.key
        self.settings = settings or self.settings_class.parse(values, owner=self.key, where=type(self).__name__)
        self._stock: Stock | None = None
        self._changing = threading.RLock()
        """Held while items come and go: of two changes at once, none is lost."""
        self._training: dict[str, Any] = {}
        self._earlier: Artifact | None = None
        self._records = Records()
        self.trained_on = ""
        self.data_path: Path | None = None
        self._content: dict[str, str] | None = None
        self.ingredients: Path | None = None
        """A folder where vectors and IDs that `fit` makes are kept and found again; else they go with its work."""

    def __repr__(self) -> str:
        """The settings that are not defaults, and what it has learned."""
        row = [repr(self.key)] if self.key != type(self).key else []
        named = ", ".join([*row, *filter(None, [in_brief(self.settings)])])
        return f"{type(self).__name__}({named}): {self._state()}"

    def _state(self) -> str:
        if self._stock is None:
            return "not fitted"
        return ", ".join([f"fitted, {len(self._stock):,} items", *in_words(self._training)])

    # ---- the four verbs -------------------------------------------------------------------------------------------

    def fit(
        self,
        data: Dataset,
        *,
        out: Path | None = None,
        progress: Progress | None = None,
        restart: bool = False,
        replace: bool = False,
    ) -> Self:
        """Learn from the training part of `data`; with `out`, unfinished work is kept beside it and resumed.

        Where `out` holds this model after fewer epochs or minutes, training goes on from there, unless `restart`; where
        it holds something else, that is replaced only with `replace`, when the new model is whole.
        """
        self._check(data)
        self._content = None
        workdir = None if out is None else self.training_directory(out, data.fingerprint)
        with replacing(replace), locked(out) if out is not None and leads() else nullcontext():
            if out is not None and leads():
                refuse_other(out, self.origin(data.fingerprint), self.gives_way(data.fingerprint))
            found = Standing() if out is None or restart else self.standing(out, data.fingerprint)
            self._earlier = found.artifact if found.goes_on else None
            if out is not None and workdir is not None and leads():
                forget_work(out) if restart else self._go_on(workdir)
            ids = self._fit(data, workdir, progress or SilentProgress())
            self._records = Records.in_work(workdir if leads() else None)
            self._stock = Stock(data.catalog, data.train_counts(), ids)
            self.trained_on, self.data_path = data.fingerprint, data.path
            if out is not None and leads():
                self.save(out)
        return self

    def _go_on(self, workdir: Path) -> None:
        """Begin where a cut-off or finished training of another length stopped, if there is one."""
        options = self.training_options
        begun = options is not None and take_up(workdir, within=options.epochs)
        if self._earlier is not None and not begun:
            checkpoints.take_over(self._earlier.path, workdir)

    def recommend(
        self,
        histories: Sequence[Sequence[str]],
        k: int = 10,
        *,
        exclude_seen: bool = False,
        allow: FilterLike | None = None,
        deny: FilterLike | None = None,
        users: Sequence[str] | None = None,
        search: Settings | Mapping[str, Any] | None = None,
    ) -> Recommendations:
        """The k best items for each history (item ids, oldest first).

        `users` are ids for models that know users; `search` changes how a generating model searches, for this call.
        """
        check_asked(histories, k, users)
        stock = self.stock
        rows = [stock.catalog.index_of([str(item_id) for item_id in history]) for history in histories]
        unknown = [int((row < 0).sum()) for row in rows]
        known = Histories.from_lists([row[row >= 0] for row in rows])
        left = stock.filtered(allow, deny)
        ranking = self._ranked(Request(known, k, left.mask, exclude_seen, users, self._parsed_search(search)), stock)
        return stock.answer(ranking, [len(row) == 0 for row in known], unknown, left.notes)

    def rank(self, request: Request) -> Ranking:
        """The same in item indices, for evaluation and batch jobs; empty histories get the most popular items."""
        return self._ranked(request, self.stock)

    def remove_items(self, item_ids: Sequence[str]) -> None:
        """Never recommend these again; in histories they keep their meaning."""
        with self._changing:
            self._stock = self.stock.without_items(item_ids)

    def restore_items(self, item_ids: Sequence[str]) -> None:
        """Recommend these again, which were removed; all of them or none."""
        with self._changing:
            self._stock = self.stock.with_items_back(item_ids)

    def save(self, path: Path | str, *, replace: bool = False) -> Path:
        """Write the model as an artefact, with the record of its training where there is one.

        An earlier state of it is replaced, anything else only with `replace`.
        """
        path, stock = Path(path), self.stock
        origin = self.origin(self.trained_on, stock)
        with replacing(replace), write(path, origin, gives_way=self.gives_way(self.trained_on)) as directory:
            self.write_state(directory)
            write_facts(directory, self.settings, {**self._training, **data_from(self.data_path, path)})
            self._records.write(directory, with_state=self._keeps_state(stock))
        forget_work(path)
        self._records = dataclasses.replace(self._records, state=path)
        return path

    def write_state(self, directory: Path) -> None:
        """Catalogue, IDs and weights, without words about where they come from."""
        write_stock(directory, self.stock)
        self._write_files(directory)

    def _keeps_state(self, stock: Stock) -> bool:
        """Whether a saved model can be gone on with; not one whose catalogue has changed since."""
        options = self.training_options
        return options is not None and options.keep_state and not stock.changed

    @classmethod
    def load(cls, path: Path) -> Self:
        with opened(Path(path), "model") as artifact:
            return cls.from_artifact(artifact)

    @classmethod
    def from_artifact(cls, artifact: Artifact) -> Self:
        key = str(artifact.settings.get("model"))
        settings = cls.settings_class.parse(stored_settings(artifact), owner=key, where=str(artifact.path))
        model = cls(settings, key=key)
        model.trained_on = artifact.made_from.get("dataset", "")
        model._content = {name: value for name, value in artifact.made_from.items() if name.startswith(PREFIX)}
        model._training, model.data_path = read_training(artifact), data_path(artifact)
        model._records = Records.of(artifact)
        model._stock = read_stock(artifact, lambda catalog: model._read_files(artifact, catalog))
        return model

    # ---- what subclasses write ------------------------------------------------------------------------------------

    def _check(self, data: Dataset) -> None:  # noqa: ARG002
        """Refuse what cannot work before anything is embedded or trained; a model adds what it knows."""
        if self.training_options is not None:
            check_machine(self.training_options)

    @abstractmethod
    def _fit(self, data: Dataset, workdir: Path | None, progress: Progress) -> ItemIds | None:
        """Learn, from the beginning whatever was there before; semantic IDs come back where the model has such.

        Unfinished work is kept in `workdir`, which belongs to exactly this data and these settings.
        """

    @abstractmethod
    def _rank(self, request: Request, stock: Stock) -> Ranking:
        """Rank for histories that each have at least one item."""

    @abstractmethod
    def _write_files(self, directory: Path) -> None:
        """Write weights and whatever else `_read_files` needs; catalogue and semantic IDs are written already."""

    @abstractmethod
    def _read_files(self, artifact: Artifact, catalog: Catalog) -> ItemIds | None:
        """Restore what was written; settings are already there."""

    @property
    def training_options(self) -> TrainingOptions | None:
        """How it is trained; None for models that are not trained in epochs."""
        return None

    def training_summary(self) -> dict[str, Any]:
        """Epochs, best epoch and value, seconds; empty for models that are not trained in epochs."""
        return dict(self._training)

    def _made_from(self) -> dict[str, str]:
        """Further fingerprints, for example of given semantic IDs."""
        return {}

    def _embeds_by(self) -> EmbeddingSettings | None:
        """How it makes vectors of items itself, where it does."""
        return None

    def asked_by(self) -> dict[str, Any]:
        """What decides its answers beside what it has learned, for example its search."""
        return {}

    # ---- shared parts ---------------------------------------------------------------------------------------------

    @property
    def stock(self) -> Stock:
        if self._stock is None:
            raise self._not_fitted()
        return self._stock

    @property
    def catalog(self) -> Catalog:
        return self.stock.catalog

    @property
    def counts(self) -> NDArray[np.int64]:
        """Training counts per item."""
        return self.stock.counts

    def origin(self, dataset: str, stock: Stock | None = None) -> Origin:
        """What the model artefact is made from, known before training: equal origins give equal models.

        Settings of the run and of the search are no part of it: `SETTINGS_FILE` keeps them.
        With a `stock` also what happened to the catalogue since.
        """
        return self._origin(dataset, stock=stock)

    def _origin(self, dataset: str, *without: Mark, stock: Stock | None = None) -> Origin:
        options = self.training_options
        changed = {} if stock is None or not stock.changed else {"catalog": stock.fingerprint}
        return Origin(
            "model",
            settings={"model": self.key, "settings": self.settings.method_values(*without)},
            made_from={"dataset": dataset, **self._made_from(), **self.named_content(), **changed},
            seed=None if options is None else options.seed,
        )

    def named_content(self) -> dict[str, str]:
        """What the settings lead to on the disk, looked at once: a trained model keeps what it was trained with."""
        if self._content is None:
            embedding = self._embeds_by()
            self._content = {} if embedding is None else named_content(embedding)
        return self._content

    def training_directory(self, out: Path, dataset: str) -> Path:
        """Where an unfinished training for `out` keeps its checkpoints; names of others of its kind begin alike."""
        kind, line = self._origin(dataset, LENGTH, RATE), self._origin(dataset, LENGTH)
        return training_directory(out, kind, line, self.origin(dataset))

    def standing(self, out: Path, dataset: str) -> Standing:
        """What lies at `out`, seen by this model before it is trained there on this dataset."""
        wanted, line = self.origin(dataset), self._origin(dataset, LENGTH)
        return standing(out, wanted, line, self.settings, self.training_options)

    def gives_way(self, dataset: str) -> GivesWay:
        """Which saved models are earlier states of this one, trained on this dataset."""
        return gives_way(self._origin(dataset, LENGTH), self.settings)

    def _ranked(self, request: Request, stock: Stock) -> Ranking:
        return stock.ranked(request, lambda asked: self._rank(asked, stock))

    def _parsed_search(self, search: Settings | Mapping[str, Any] | None) -> Settings | None:
        if search is None:
            return None
        if not isinstance(self, Searches):
            raise SettingsError(f"{self.key} does not search; leave the search settings out.")
        return self.parsed_search(search)

    def _not_fitted(self) -> InputError:
        return InputError(f"this {self.key} is not fitted yet; call fit(data) first or load a saved one.")
