"""What every recommender is: fit on a dataset, recommend item ids, save, load."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.artifacts import Artifact, Origin, open_artifact, work_directory, write, write_json
from sidrec.core.errors import InputError, SettingsError
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.settings import Settings
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories

CATALOG_FILE = "catalog.parquet"
TRAINING_FILE, DATA = "training.json", "data"
RECORD_FILES = ("history.jsonl", "curve.svg")
"""What the training loop leaves in its work directory and the model keeps."""
COUNT = "train_count"
ItemFilter = Sequence[str] | Mapping[str, Sequence[str]]
"""Item ids, or {column: accepted values} of the catalogue."""


@dataclass(frozen=True)
class Candidates:
    """Which items may be returned: a mask over the catalogue (None: all), and whether each user's own are left out."""

    allowed: NDArray[np.bool_] | None = None
    exclude_seen: bool = False


@dataclass(frozen=True)
class Ranking:
    """Best first; -1 and -inf fill places for which no allowed item is left."""

    items: NDArray[np.int32]  # (users, k)
    scores: NDArray[np.float32]  # (users, k)


@dataclass(frozen=True)
class Recommendations:
    """The answer in the caller's words; row r belongs to history r."""

    item_ids: list[list[str]]
    titles: list[list[str]]
    scores: list[list[float]]
    fallback: list[bool]
    """True where nothing of the history is known, so the list is the most popular items."""
    unknown_items: list[int]
    """How many of the history's items the catalogue does not have; they were skipped."""

    def to_frame(self) -> pl.DataFrame:
        """One row per recommendation: request, rank, item_id, title, score, fallback."""
        rows = [
            (request, rank + 1, item_id, title, score, self.fallback[request])
            for request, lists in enumerate(zip(self.item_ids, self.titles, self.scores, strict=True))
            for rank, (item_id, title, score) in enumerate(zip(*lists, strict=True))
        ]
        names = ["request", "rank", "item_id", "title", "score", "fallback"]
        return pl.DataFrame(rows, schema=names, orient="row")


class Recommender(ABC):
    """Base of every model of the registry.

    A subclass names its `Settings`, learns in `_fit`, ranks item indices in `_rank`, and writes and reads its own
    files; ids, titles, filters, fallbacks and the artefact are handled here, once.
    """

    key: ClassVar[str]
    settings_class: ClassVar[type[Settings]] = Settings

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        if settings is not None and values:
            raise SettingsError("give either a settings object or single settings, not both.")
        self.settings = settings or self.settings_class.parse(values, owner=self.key, where=type(self).__name__)
        self._catalog: Catalog | None = None
        self._counts: NDArray[np.int64] | None = None
        self._training: dict[str, Any] = {}
        self.trained_on = ""
        self.data_place: Path | None = None

    # ---- the four verbs -------------------------------------------------------------------------------------------

    def fit(self, data: Dataset, *, out: Path | None = None, progress: Progress | None = None) -> Self:
        """Learn from the training part of `data`; with `out`, unfinished work is kept beside it and resumed."""
        self._catalog, self._counts, self.trained_on = data.catalog, data.train_counts(), data.fingerprint
        self.data_place = data.place
        workdir = None if out is None else training_directory(out, self.origin(data.fingerprint))
        self._fit(data, workdir, progress or SilentProgress())
        if out is not None and leads():
            self.save(out)
        return self

    def recommend(
        self,
        histories: Sequence[Sequence[str]],
        k: int = 10,
        *,
        exclude_seen: bool = False,
        allow: ItemFilter | None = None,
        deny: ItemFilter | None = None,
    ) -> Recommendations:
        """The k best items for each history (item ids, oldest first)."""
        if k < 1:
            raise InputError(f"k is {k}; ask for at least one item.")
        if isinstance(histories, str) or any(isinstance(history, str) for history in histories):
            raise InputError("histories is a list of histories, each a list of item ids: [['a', 'b'], ['c']].")
        rows = [self.catalog.index_of([str(item_id) for item_id in history]) for history in histories]
        unknown = [int((row < 0).sum()) for row in rows]
        known = Histories.from_lists([row[row >= 0] for row in rows])
        candidates = Candidates(self.allowed_items(allow, deny), exclude_seen)
        ranking = self.rank(known, k, candidates)
        return self._answer(ranking, fallback=[len(row) == 0 for row in known], unknown=unknown)

    def rank(self, histories: Histories, k: int, candidates: Candidates | None = None) -> Ranking:
        """The same in item indices, for evaluation and batch jobs; empty histories get the most popular items."""
        candidates = candidates or Candidates()
        empty = histories.lengths == 0
        if not empty.any():
            return self._rank(histories, k, candidates)
        items = np.full((len(histories), k), -1, dtype=np.int32)
        scores = np.full((len(histories), k), -np.inf, dtype=np.float32)
        items[empty], scores[empty] = self._most_popular(k, candidates)
        rest = np.flatnonzero(~empty)
        if len(rest):
            ranking = self._rank(histories.take(rest), k, candidates)
            items[rest], scores[rest] = ranking.items, ranking.scores
        return Ranking(items, scores)

    def origin(self, dataset: str) -> Origin:
        """What the model artefact is made from, known before training: equal origins give equal models."""
        training = getattr(self.settings, "training", None)
        return Origin(
            "model",
            settings={"model": self.key, "settings": self.settings.model_dump(mode="json")},
            made_from={"dataset": dataset, **self._made_from()},
            seed=getattr(training, "seed", None),
        )

    def save(self, path: Path) -> Path:
        """Write the model as an artefact, with the record of its training where there is one."""
        path, origin = Path(path), self.origin(self.trained_on)
        workdir = training_directory(path, origin)
        with write(path, origin) as directory:
            self.catalog.frame.with_columns(pl.Series(COUNT, self.counts)).write_parquet(directory / CATALOG_FILE)
            self._write_files(directory)
            write_json(directory / TRAINING_FILE, {**self._training, **self._data_from(path)})
            for name in RECORD_FILES:
                if (workdir / name).is_file():
                    shutil.copyfile(workdir / name, directory / name)
        forget_training(path)
        return path

    @classmethod
    def load(cls, path: Path) -> Self:
        return cls.from_artifact(open_artifact(Path(path), "model"))

    @classmethod
    def from_artifact(cls, artifact: Artifact) -> Self:
        settings = cls.settings_class.parse(artifact.settings["settings"], owner=cls.key, where=str(artifact.path))
        model = cls(settings)
        frame = pl.read_parquet(artifact.file(CATALOG_FILE))
        model._counts = frame[COUNT].to_numpy().astype(np.int64)
        model._catalog = Catalog(frame.drop(COUNT))
        model.trained_on = artifact.made_from.get("dataset", "")
        model._training, model.data_place = artifact.json(TRAINING_FILE), data_place(artifact)
        model._training.pop(DATA, None)
        model._read_files(artifact)
        return model

    def _data_from(self, path: Path) -> dict[str, str]:
        """Where the training data lie, seen from the model, so that both can move together."""
        place = self.data_place
        return {} if place is None else {DATA: os.path.relpath(place.absolute(), path.absolute())}

    # ---- what subclasses write ------------------------------------------------------------------------------------

    @abstractmethod
    def _fit(self, data: Dataset, workdir: Path | None, progress: Progress) -> None:
        """Learn; unfinished work is kept in `workdir`, which belongs to exactly this data and these settings."""

    @abstractmethod
    def _rank(self, histories: Histories, k: int, candidates: Candidates) -> Ranking:
        """Rank for histories that each have at least one item."""

    @abstractmethod
    def _write_files(self, directory: Path) -> None:
        """Write weights and whatever else `_read_files` needs."""

    @abstractmethod
    def _read_files(self, artifact: Artifact) -> None:
        """Restore what `_write_files` wrote; catalogue and settings are already there."""

    def training_summary(self) -> dict[str, Any]:
        """Epochs, best epoch and value, seconds; empty for models that are not trained in epochs."""
        return dict(self._training)

    def use_semantic_ids(self, path: Path, data: Dataset) -> None:  # noqa: ARG002
        """Take ready semantic IDs instead of making them."""
        raise SettingsError(f"{self.key} has no semantic IDs; leave --sids out.")

    def _made_from(self) -> dict[str, str]:
        """Further fingerprints, for example of the semantic IDs."""
        return {}

    def item_vectors(self) -> NDArray[np.float32]:
        """One learned vector per item, where the model has such."""
        raise InputError(f"{self.key} has no item vectors to export; use an item-ID model such as sasrec.")

    # ---- shared parts ---------------------------------------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        if self._catalog is None:
            raise InputError(f"this {self.key} is not fitted yet; call fit(data) first or load a saved one.")
        return self._catalog

    @property
    def counts(self) -> NDArray[np.int64]:
        """Training counts per item: the popularity fallback and the popularity report need them."""
        if self._counts is None:
            raise InputError(f"this {self.key} is not fitted yet; call fit(data) first or load a saved one.")
        return self._counts

    def allowed_items(self, allow: ItemFilter | None, deny: ItemFilter | None) -> NDArray[np.bool_] | None:
        """The request's filters as one mask; None where nothing is filtered."""
        if allow is None and deny is None:
            return None
        mask = np.ones(len(self.catalog), dtype=bool) if allow is None else self._matching(allow, "allow")
        return mask if deny is None else mask & ~self._matching(deny, "deny")

    def _matching(self, wanted: ItemFilter, name: str) -> NDArray[np.bool_]:
        mask = np.zeros(len(self.catalog), dtype=bool)
        if isinstance(wanted, Mapping):
            for column, values in wanted.items():
                mask |= self.catalog.matching(column, values)
            return mask
        if isinstance(wanted, str):
            raise InputError(f"{name} is a list of item ids or {{column: values}}, not a single string.")
        items = self.catalog.index_of(list(wanted))
        mask[items[items >= 0]] = True
        return mask

    def _most_popular(self, k: int, candidates: Candidates) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        return popular_items(self.counts, k, candidates.allowed)

    def _answer(self, ranking: Ranking, fallback: list[bool], unknown: list[int]) -> Recommendations:
        ids, titles = self.catalog.item_ids.to_list(), self.catalog.titles
        real = ranking.items >= 0
        kept = [row[found] for row, found in zip(ranking.items, real, strict=True)]
        return Recommendations(
            item_ids=[[ids[item] for item in row] for row in kept],
            titles=[[titles[item] for item in row] for row in kept],
            scores=[row[found].tolist() for row, found in zip(ranking.scores, real, strict=True)],
            fallback=fallback,
            unknown_items=unknown,
        )


def leads() -> bool:
    """Whether this process may write: the first of those started by `accelerate launch` or torchrun, or one alone."""
    return os.environ.get("RANK", "0") == "0"


def training_directory(out: Path, origin: Origin) -> Path:
    """Where an unfinished training of this origin for the model at `out` keeps its checkpoints.

    Its name carries the origin, so that a checkpoint is never taken up by other data, IDs or settings.
    """
    return work_directory(Path(out), origin)


def data_place(artifact: Artifact) -> Path | None:
    """Where a saved model's training data lie."""
    place = artifact.json(TRAINING_FILE).get(DATA)
    return None if place is None else Path(os.path.normpath(artifact.path.absolute() / place))


def forget_training(out: Path) -> None:
    """Remove what cut-off trainings for the model at `out` have left, whatever their settings."""
    for workdir in Path(out).parent.glob(f".{Path(out).name}.work-*"):
        shutil.rmtree(workdir, ignore_errors=True)


def popular_items(
    counts: NDArray[np.int64], k: int, allowed: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The k most frequent allowed items, scored by log share; ties go to the lower item index."""
    pool = np.arange(len(counts)) if allowed is None else np.flatnonzero(allowed)
    best = pool[np.lexsort((pool, -counts[pool]))][:k]
    items = np.full(k, -1, dtype=np.int32)
    scores = np.full(k, -np.inf, dtype=np.float32)
    items[: len(best)] = best
    share = (counts[best] + 1) / (counts.sum() + len(counts))
    scores[: len(best)] = np.log(share)
    return items, scores
