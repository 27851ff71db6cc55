"""What every saved model has beside its weights, and where its files lie, finished and unfinished."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import numpy as np
import polars as pl

from sidrec.core.artifacts import Artifact, Origin, work_directory, write_json
from sidrec.core.checked_files import damaged
from sidrec.core.checked_tables import read_table
from sidrec.core.errors import ArtifactError, InputError
from sidrec.core.places import is_uri, mirrored, uri_of
from sidrec.core.progress import Progress
from sidrec.core.settings import Settings
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.schema import ITEM_ID
from sidrec.models.item_ids import ItemIds
from sidrec.models.stock import Stock
from sidrec.training import checkpoints

CATALOG_FILE, REMOVED_FILE = "catalog.parquet", "removed.parquet"
SETTINGS_FILE = "model.json"
TRAINING_FILE, DATA = "training.json", "data"
WEIGHTS_FILE = "weights.safetensors"
COUNT = "train_count"
S = TypeVar("S", bound=Settings)


def check_dataset(data: object) -> None:
    """What `fit` takes."""
    if not isinstance(data, Dataset):
        words = "sidrec.read_dataset makes one of files or data frames."
        raise InputError(f"fit takes a dataset, not {type(data).__name__}; {words}")


@contextmanager
def said_when_stopped(out: Path | None, progress: Progress) -> Iterator[None]:
    """Ctrl-C in Python: what was saved, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        kept = "nothing is kept; with out=DIRECTORY a training can be stopped and gone on with."
        if out is not None:
            kept = f"the unfinished training for {out} is kept; the same fit(data, out=...) goes on from there."
        progress.note(f"stopped: {kept}")
        raise


def take_up(directory: Path, *, at_any_rate: bool = False, within: int | None = None) -> bool:
    """Whether there is a cut-off training to go on with in `directory`, named by `training_directory`.

    One that was to have another length, and has not done more than `within` epochs, becomes the one of this name; with
    `at_any_rate` also one of another learning rate, which is how one goes on after an explosion.
    """
    if not directory.exists() and directory.parent.is_dir():
        alike = directory.name.rsplit("-", 2 if at_any_rate else 1)[0] + "-"
        for other in sorted(path for path in directory.parent.iterdir() if path.name.startswith(alike)):
            state = checkpoints.standing(other)
            if state is not None and (within is None or state.epoch < within):
                other.rename(directory)
                break
    return directory.exists()


def training_directory(out: Path, *origins: Origin) -> Path:
    """Where an unfinished training for the model at `out` keeps its checkpoints.

    The name carries the origins, the most exact one last, so that a checkpoint is never taken up by other data, IDs or
    settings, and `take_up` finds those that differ in little.
    """
    first, *more = origins
    return Path("-".join([str(work_directory(out, first)), *(origin.fingerprint[:12] for origin in more)]))


def write_stock(directory: Path, stock: Stock) -> None:
    """The catalogue with its counts, what was removed, and the semantic IDs where there are some."""
    stock.catalog.frame.with_columns(pl.Series(COUNT, stock.counts)).write_parquet(directory / CATALOG_FILE)
    if stock.removed is not None:
        removed = stock.catalog.item_ids.filter(pl.Series(stock.removed))
        pl.DataFrame({ITEM_ID: removed}).write_parquet(directory / REMOVED_FILE)
    if stock.ids is not None:
        stock.ids.write_files(directory)


def read_stock(artifact: Artifact, read_ids: Callable[[Catalog], ItemIds | None]) -> Stock:
    """What `write_stock` wrote; the IDs are read by the model, which checks them against its catalogue."""
    frame = read_table(artifact.file(CATALOG_FILE), {ITEM_ID: "id", COUNT: "count"})
    catalog, counts = Catalog(frame.drop(COUNT)), frame[COUNT].to_numpy().astype(np.int64)
    stock = Stock(catalog, counts, read_ids(catalog), changed="catalog" in artifact.made_from)
    if not artifact.has(REMOVED_FILE):
        return stock
    gone = read_table(artifact.file(REMOVED_FILE), {ITEM_ID: "id"})[ITEM_ID].to_list()
    return replace(stock.without_items(gone), changed=stock.changed) if gone else stock


def write_facts(directory: Path, settings: Settings, training: Mapping[str, Any]) -> None:
    """All settings, and the record of the training."""
    write_json(directory / SETTINGS_FILE, settings.model_dump(mode="json"))
    write_json(directory / TRAINING_FILE, dict(training))


def read_training(artifact: Artifact) -> dict[str, Any]:
    """The record of a saved model's training."""
    return {name: value for name, value in artifact.json(TRAINING_FILE).items() if name != DATA}


def in_words(training: Mapping[str, Any]) -> list[str]:
    """How long it was trained, and which epoch was kept."""
    words = [f"{training['epochs']} epochs"] if training.get("epochs") else []
    best = training.get("best_value")
    return [*words, f"best validation {best:.4f} in epoch {training.get('best_epoch')}"] if _is_number(best) else words


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float)


def read_settings(kind: type[S], artifact: Artifact) -> S:
    """All settings of a saved model; the manifest has those of the method (before there was a file, it had all)."""
    found = artifact.json(SETTINGS_FILE) if artifact.has(SETTINGS_FILE) else artifact.settings.get("settings")
    if not isinstance(found, dict):
        raise ArtifactError(f"{artifact.path}: does not say which settings its model has; train it again.")
    return kind.parse({**kind.before, **found}, owner=str(artifact.settings.get("model")), where=str(artifact.path))


def data_path(artifact: Artifact) -> Path | None:
    """Where a saved model's training data lie."""
    found = artifact.json(TRAINING_FILE).get(DATA)
    if not isinstance(found, str | None) or "\0" in (found or ""):
        raise damaged(artifact.file(TRAINING_FILE), "data is no path")
    if found is None or is_uri(found):
        return None if found is None else mirrored(found)
    return Path(os.path.normpath(artifact.path.absolute() / found))


def data_from(data: Path | None, path: Path) -> dict[str, str]:
    """Where the training data lie, seen from the model at `path`, so that both can move together.

    Where only one of them lies at a URI, they cannot.
    """
    if data is None:
        return {}
    uri = uri_of(data)
    if (uri is None) != (uri_of(path) is None):
        return {DATA: uri or str(data.absolute())}
    return {DATA: os.path.relpath(data.absolute(), path.absolute())}
