"""One trial: train with its settings, stop where it falls behind, judge what is left on the validation part."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sidrec.core.artifacts import forget_work
from sidrec.core.errors import StorageError
from sidrec.core.locks import patient
from sidrec.core.storage import remove
from sidrec.data.dataset import Dataset
from sidrec.evaluation.evaluate import evaluate
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.pipeline.benchmark.run_cells import message_of
from sidrec.pipeline.recipes import Recipe
from sidrec.pipeline.train import train
from sidrec.pipeline.tuning.search import METRIC
from sidrec.pipeline.tuning.trials import Trial
from sidrec.training.watching import watched

Tell = Callable[[int, float], bool]
"""Takes an epoch and its figure; whether the trial should end there."""


class Pruned(Exception):  # noqa: N818  (an end, not an error)
    """A trial is behind the others, and its training ends."""


@dataclass(frozen=True)
class Bench:
    """Where trials are run: the data, and a directory that all who work on them see."""

    data: Path
    out: Path

    def place(self, number: int) -> Path:
        return self.out / "trials" / str(number)


def run_trial(trial: Trial, recipe: Recipe, bench: Bench, tell: Tell) -> Trial:
    """How the trial ended; killed and run again it goes on from its last checkpoint."""
    watch, began = _Watch(tell), time.monotonic()
    ended = replace(trial, state="failed")
    try:
        with patient(lambda _: None), watched(recipe.key, watch):
            value = _judged(recipe, bench, bench.place(trial.number))
        ended = replace(trial, state="done", value=value)
    except Pruned:
        ended = replace(trial, state="pruned")
    except StorageError:
        raise
    except Exception as error:  # settings that do not go together, a training that explodes
        ended = replace(ended, message=message_of(error))
    clear(bench.place(trial.number))
    return replace(ended, epochs=watch.epochs, seconds=round(time.monotonic() - began, 1))


class _Watch:
    """Passes the figures of the epochs on."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self.epochs = tell, 0

    def __call__(self, entry: Mapping[str, float]) -> None:
        self.epochs = int(entry["epoch"])
        value = entry.get(f"validation/{METRIC}")
        if value is not None and self._tell(self.epochs, value):
            raise Pruned


def _judged(recipe: Recipe, bench: Bench, place: Path) -> float:
    model = train(bench.data, place, recipe, ingredients=bench.out).model
    settings: dict[str, Any] = {"split": "validation", "ks": (10,), "bootstrap": 100}
    return float(evaluate(model, Dataset.load(bench.data), EvaluationSettings(**settings)).metrics[METRIC])


def clear(place: Path) -> None:
    """A trial leaves its figures; its best settings are trained again where the model is wanted."""
    forget_work(place)
    remove(place)
