"""Where a model's files lie, finished and unfinished."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sidrec.core.artifacts import Artifact, Origin, work_directory
from sidrec.core.checked_files import damaged
from sidrec.core.errors import ArtifactError
from sidrec.training import checkpoints

CATALOG_FILE, REMOVED_FILE = "catalog.parquet", "removed.parquet"
SETTINGS_FILE = "model.json"
TRAINING_FILE, DATA = "training.json", "data"
WEIGHTS_FILE = "weights.safetensors"
COUNT = "train_count"


def leads() -> bool:
    """Whether this process may write: the first of those started by `accelerate launch` or torchrun, or one alone."""
    return os.environ.get("RANK", "0") == "0"


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


def stored_settings(artifact: Artifact) -> dict[str, Any]:
    """All settings of a saved model; the manifest has those of the method (before there was a file, it had all)."""
    found = artifact.json(SETTINGS_FILE) if artifact.has(SETTINGS_FILE) else artifact.settings.get("settings")
    if not isinstance(found, dict):
        raise ArtifactError(f"{artifact.path}: does not say which settings its model has; train it again.")
    return found


def data_path(artifact: Artifact) -> Path | None:
    """Where a saved model's training data lie."""
    found = artifact.json(TRAINING_FILE).get(DATA)
    if not isinstance(found, str | None) or "\0" in (found or ""):
        raise damaged(artifact.file(TRAINING_FILE), "data is no path")
    return None if found is None else Path(os.path.normpath(artifact.path.absolute() / found))


def data_from(data: Path | None, path: Path) -> dict[str, str]:
    """Where the training data lie, seen from the model at `path`, so that both can move together."""
    return {} if data is None else {DATA: os.path.relpath(data.absolute(), path.absolute())}
