"""Where a model's files lie, finished and unfinished."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from sidrec.core.artifacts import Artifact, Origin, work_directory
from sidrec.core.checked_files import damaged
from sidrec.core.storage import siblings
from sidrec.training.options import MAY_CHANGE

CATALOG_FILE, REMOVED_FILE = "catalog.parquet", "removed.parquet"
TRAINING_FILE, DATA = "training.json", "data"
WEIGHTS_FILE = "weights.safetensors"
RECORD_FILES = ("history.jsonl", "curve.svg")
"""What the training loop leaves in its work directory and the model keeps."""
COUNT = "train_count"


def leads() -> bool:
    """Whether this process may write: the first of those started by `accelerate launch` or torchrun, or one alone."""
    return os.environ.get("RANK", "0") == "0"


def training_directory(out: Path, origin: Origin) -> Path:
    """Where an unfinished training of this origin for the model at `out` keeps its checkpoints.

    Its name carries the origin, so that a checkpoint is never taken up by other data, IDs or settings; and before that
    the origin without what may change while a training runs, for `take_up`.
    """
    return Path(f"{_alike(out, origin)}{origin.fingerprint[:12]}")


def take_up(out: Path, origin: Origin) -> bool:
    """Whether there is a cut-off training to go on with; one that differs only in what may change while a training runs
    (its learning rate, say) becomes one of this origin."""
    directory = training_directory(out, origin)
    others = [] if directory.exists() else siblings(Path(out).resolve(), "work")
    for other in [other for other in others if str(other).startswith(_alike(out, origin))][:1]:
        other.rename(directory)
    return directory.exists()


def _alike(out: Path, origin: Origin) -> str:
    """How the names of those begin that differ only in what may change while a training runs."""
    settings = dict(origin.settings["settings"])
    if "training" in settings:
        settings["training"] = {key: value for key, value in settings["training"].items() if key not in MAY_CHANGE}
    return f"{work_directory(out, replace(origin, settings={**origin.settings, 'settings': settings}))}-"


def data_path(artifact: Artifact) -> Path | None:
    """Where a saved model's training data lie."""
    found = artifact.json(TRAINING_FILE).get(DATA)
    if not isinstance(found, str | None) or "\0" in (found or ""):
        raise damaged(artifact.file(TRAINING_FILE), "data is no path")
    return None if found is None else Path(os.path.normpath(artifact.path.absolute() / found))


def data_from(data: Path | None, path: Path) -> dict[str, str]:
    """Where the training data lie, seen from the model at `path`, so that both can move together."""
    return {} if data is None else {DATA: os.path.relpath(data.absolute(), path.absolute())}
