"""Optional experiment trackers, through Accelerate."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sidrec.core.errors import SettingsError
from sidrec.training.options import TrainingOptions


class Trackers:
    """The trackers a run asked for; none by default."""

    def __init__(self, options: TrainingOptions, workdir: Path | None, name: str) -> None:
        self._trackers: list[Any] = [_start(kind, workdir, name) for kind in options.trackers]
        for tracker in self._trackers:
            tracker.store_init_configuration(_flat(options))

    def log(self, entry: dict[str, float]) -> None:
        for tracker in self._trackers:
            tracker.log(entry, step=int(entry["epoch"]))

    def close(self) -> None:
        for tracker in self._trackers:
            tracker.finish()


def check_trackers(options: TrainingOptions, workdir: Path | None) -> None:
    """Say at the start, not after the first epoch, what a tracker lacks."""
    missing = [kind for kind in options.trackers if find_spec(kind) is None]
    if missing:
        names = " ".join(missing)
        raise SettingsError(
            f"training.trackers: the package {names} is not installed; `pip install {names}` or leave it out."
        )
    if "tensorboard" in options.trackers and workdir is None:
        raise SettingsError("training.trackers: tensorboard writes files; give the training a work directory.")


def _start(kind: str, workdir: Path | None, name: str) -> Any:
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS

    tracker_class = LOGGER_TYPE_TO_CLASS[kind]
    places = {"logging_dir": str(workdir)} if tracker_class.requires_logging_directory else {}
    tracker = tracker_class(name, **places)
    getattr(tracker, "start", bool)()  # older versions start when they are made
    return tracker


def _flat(options: TrainingOptions) -> dict[str, str | float | int]:
    values = options.model_dump(mode="json")
    return {key: value if isinstance(value, int | float | str) else str(value) for key, value in values.items()}
