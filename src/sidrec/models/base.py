"""What every recommender is: fit on a dataset, recommend item ids, save, load."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sidrec.core.artifacts import Artifact, forget_work, open_artifact, opened, write
from sidrec.core.errors import SettingsError
from sidrec.core.given_paths import as_path
from sidrec.core.locks import locked
from sidrec.core.pages.notebook import html_table
from sidrec.core.progress import Progress, SilentProgress, terminal_progress
from sidrec.core.replacing import refuse_other, replacing
from sidrec.core.settings import Settings
from sidrec.core.settings_table import changed_settings, in_brief
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories
from sidrec.data.item_filter import FilterLike
from sidrec.models.capabilities import Searches
from sidrec.models.content import PREFIX, given_content, learned_content
from sidrec.models.floor import beside_popularity
from sidrec.models.item_ids import ItemIds
from sidrec.models.lineage import Lineage
from sidrec.models.live_catalog import LiveCatalog
from sidrec.models.model_files import (
    check_dataset,
    data_from,
    data_path,
    in_words,
    read_settings,
    read_stock,
    read_training,
    said_when_stopped,
    take_up,
    write_facts,
    write_stock,
)
from sidrec.models.ranking import Ranking, Recommendations
from sidrec.models.records import Records
from sidrec.models.request import Request, check_asked
from sidrec.models.standing import SeenStates, Standing, refuse_changed_items
from sidrec.models.stock import Stock
from sidrec.models.successor import (
    STARTED_FROM,
    refuse_other_items,
    refuse_who_cannot,
    still_removed,
    successor_values,
)
from sidrec.training import checkpoints
from sidrec.training.distributed import leads
from sidrec.training.loop import check_machine


class Recommender(LiveCatalog, Lineage, ABC):
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
        super().__init__()
        self.key = key or self.key
        self.settings = settings or self.settings_class.parse(values, owner=self.key, where=type(self).__name__)
        self._training: dict[str, Any] = {}
        self._earlier: Artifact | None = None
        self._start: Recommender | None = None
        self._records = Records()
        self._seen = SeenStates()
        self.trained_on = ""
        self.data_path: Path | None = None
        self.fits_size = False
        """Whether sizes that nobody named are chosen by the data, for models that can."""
        self.ingredients: Path | None = None
        """A folder where vectors and IDs that `fit` makes are kept and found again; else they go with its work."""

    def __repr__(self) -> str:
        """The settings that are not defaults, and what it has learned."""
        row = [repr(self.key)] if self.key != type(self).key else []
        named = ", ".join([*row, *filter(None, [in_brief(self.settings)])])
        return f"{type(self).__name__}({named}): {self._state()}"

    def _repr_html_(self) -> str:
        rows = [("state", self._state()), *changed_settings(self.settings).items()]
        return html_table(f"{type(self).__name__} ({self.key})", ["what", "value"], rows)

    def _state(self) -> str:
        if self._stock is None:
            return "not fitted"
        return ", ".join([f"fitted, {len(self._stock):,} items", *in_words(self._training)])

    # ---- the four verbs -------------------------------------------------------------------------------------------

    def fit(
        self,
        data: Dataset,
        *,
        out: Path | str | None = None,
        progress: Progress | Literal[False] | None = None,
        restart: bool = False,
        replace: bool = False,
    ) -> Self:
        """Learn from the training part of `data`; with `out`, unfinished work is kept beside it and resumed.

        Progress is shown, unless it is False.

        Where `out` holds this model after fewer epochs or minutes, training goes on from there, unless `restart`; where
        it holds something else, that is replaced only with `replace`, when the new model is whole.
        """
        check_dataset(data)
        out = None if out is None else as_path(out, "out")
        progress = (progress or terminal_progress()) if progress is not False and leads() else SilentProgress()
        self.settle(data, progress)
        self._check(data)
        removed = None if self._start is None else still_removed(self._start.stock, data.catalog)
        self._content = None if self._start is None else given_content(self._embeds_by())
        self.started_from = self.started_from if self._start is not None else ""
        workdir = None if out is None else self.training_directory(out, data.fingerprint)
        with replacing(replace), locked(out) if out is not None and leads() else nullcontext():
            if out is not None and leads():
                refuse_other(out, self.origin(data.fingerprint), self.gives_way(data.fingerprint))
                refuse_changed_items(out)
            found = Standing() if out is None or restart else self.standing(out, data.fingerprint)
            self._earlier = found.artifact if found.goes_on else None
            if out is not None and workdir is not None and leads():
                forget_work(out) if restart else self._go_on(workdir)
            with said_when_stopped(out, progress):
                ids = self._fit(data, workdir, progress)
            self._records = Records.in_work(workdir if leads() else None)
            self._stock = Stock(data.catalog, data.train_counts(), ids, removed)
            self._training |= beside_popularity(data, self._training, self.training_options, progress)
            self.trained_on, self.data_path = data.fingerprint, data.path
            if out is not None and leads():
                self.save(out)
        return self

    def settle(self, data: Dataset, progress: Progress) -> None:
        """Choose what the settings leave open, and say so; `fit` does, who asks for an origin before does it first."""

    def successor(self, **changes: Any) -> Self:
        """The model for the next week's data, not fitted: its `fit` begins with what this one has learned.

        Its settings are this one's but for `changes`, such as `training={"epochs": 5}`. Items are known by their ids:
        old ones keep their semantic IDs, new ones get theirs from the same tokenizer, removed ones stay removed.
        """
        refuse_who_cannot(self, self.key)
        model = type(self)(key=self.key, **successor_values(self.settings, changes))
        refuse_other_items(self.settings, model.settings)
        model._start, model.started_from, model.fits_size = self, learned_content(self), False
        model._content, model.ingredients = given_content(model._embeds_by()), self.ingredients
        return model

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
        k = min(k, len(stock))  # nobody gets more, and room is made for every rank
        ranking = self._ranked(Request(known, k, left.mask, exclude_seen, users, self._parsed_search(search)), stock)
        return stock.answer(ranking, [len(row) == 0 for row in known], unknown, left.notes)

    def rank(self, request: Request) -> Ranking:
        """The same in item indices, for evaluation and batch jobs; empty histories get the most popular items."""
        return self._ranked(request, self.stock)

    def save(self, path: Path | str, *, replace: bool = False) -> Path:
        """Write the model as an artefact, with the record of its training where there is one.

        An earlier state of it is replaced, anything else only with `replace`.
        """
        path, stock = as_path(path, "where to save"), self.stock
        origin, gives_way = self.origin(self.trained_on, stock), self._seen.guarding(self.gives_way(self.trained_on))
        with replacing(replace), write(path, origin, gives_way=gives_way) as directory:
            self.write_state(directory)
            write_facts(directory, self.settings, {**self._training, **data_from(self.data_path, path)})
            self._records.write(directory, with_state=self._keeps_state(stock))
        forget_work(path)
        self._seen.remember(open_artifact(path, "model", verify=False))
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
        model = cls(read_settings(cls.settings_class, artifact), key=key)
        model.trained_on = artifact.made_from.get("dataset", "")
        model.started_from = artifact.made_from.get(STARTED_FROM, "")
        model._content = {name: value for name, value in artifact.made_from.items() if name.startswith(PREFIX)}
        model._training, model.data_path = read_training(artifact), data_path(artifact)
        model._records = Records.of(artifact)
        model._seen.remember(artifact)
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

    def training_summary(self) -> dict[str, Any]:
        """Epochs, best epoch and value, seconds; empty for models that are not trained in epochs."""
        return dict(self._training)

    # ---- shared parts ---------------------------------------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        return self.stock.catalog

    @property
    def counts(self) -> NDArray[np.int64]:
        """Training counts per item."""
        return self.stock.counts

    def _ranked(self, request: Request, stock: Stock) -> Ranking:
        return stock.ranked(request, lambda asked: self._rank(asked, stock))

    def _parsed_search(self, search: Settings | Mapping[str, Any] | None) -> Settings | None:
        if search is None:
            return None
        if not isinstance(self, Searches):
            raise SettingsError(f"{self.key} does not search; leave the search settings out.")
        return self.parsed_search(search)
