"""Tuning: trials of a model's settings, one after the other or by whoever is engaged, killed and resumed at will."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sidrec.core.errors import TrainingError
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.storage import storage_errors
from sidrec.data.dataset import Dataset
from sidrec.pipeline.recipes import Recipe
from sidrec.pipeline.tuning.run_trial import Bench, run_trial
from sidrec.pipeline.tuning.search import METRIC, Search, search_of
from sidrec.pipeline.tuning.trials import Trial, Trials

Engage = Callable[[Trials, Search, Bench, int, Callable[[Trial], None]], None]
"""Does the open trials up to a total and calls back with each that ended."""


@dataclass(frozen=True)
class Tuned:
    """All trials, the best of them first in `best`, and how much each setting mattered."""

    out: Path
    search: Search
    trials: list[Trial]
    importances: dict[str, float]

    @property
    def best(self) -> Trial:
        done = [trial for trial in self.trials if trial.value is not None]
        if not done:
            words = next((trial.message for trial in self.trials if trial.message), "none has ended yet")
            raise TrainingError(f"{self.out}: no trial has come through; trial 0 says: {words}")
        return max(done, key=lambda trial: (trial.value or 0.0, -trial.number))

    @property
    def recipe(self) -> Recipe:
        return self.search.recipe(self.best.chosen)

    def count(self, state: str) -> int:
        return sum(trial.state == state for trial in self.trials)

    def as_dict(self) -> dict[str, Any]:
        counts = {state: self.count(state) for state in ("done", "pruned", "failed", "running")}
        return {
            "out": str(self.out),
            "model": self.search.key,
            "metric": METRIC,
            **counts,
            "best": asdict(self.best),
            "importances": self.importances,
            "trials": [asdict(trial) for trial in self.trials],
        }


def tune(
    data: Path,
    out: Path,
    recipe: Recipe,
    *,
    trials: int,
    vary: Sequence[str] = (),
    seed: int = 0,
    progress: Progress | None = None,
    engage: Engage | None = None,
) -> Tuned:
    """Try settings of the recipe's model until `out` holds so many trials; those that are there are kept.

    Trials are judged on the validation part and nothing else. Several tuners may work on one `out`.
    """
    progress, bench = progress or SilentProgress(), Bench(Path(data).resolve(), Path(out).resolve())
    search = search_of(recipe, Dataset.load(data), vary, seed, progress)
    with storage_errors(bench.out):
        bench.out.mkdir(parents=True, exist_ok=True)
    kept = Trials(bench.out, search)
    with progress.task("tuning", total=trials) as task:
        before = sum(trial.state not in ("running", "waiting") for trial in kept.all())
        task.advance(before)
        if before:
            progress.note(f"{out}: {before} trials are there already.")

        def ended(trial: Trial) -> None:
            kept.end(trial)
            task.advance()
            progress.note(_line(trial, kept.all(), trials))

        (engage or _here)(kept, search, bench, trials, ended)
    return Tuned(Path(out), search, kept.all(), kept.importances())


def _here(kept: Trials, search: Search, bench: Bench, total: int, ended: Callable[[Trial], None]) -> None:
    while True:
        with kept.take(total) as trial:
            if trial is None:
                return
            number = trial.number
            recipe = search.recipe(trial.chosen)
            ended(run_trial(trial, recipe, bench, lambda epoch, value: kept.report(number, epoch, value)))  # noqa: B023


def _line(trial: Trial, known: list[Trial], total: int) -> str:
    over = sum(one.state not in ("running", "waiting") for one in known)
    best = max((one for one in known if one.value is not None), key=lambda one: one.value or 0.0, default=None)
    words = "" if best is None else f" (best: {best.value:.4f} of trial {best.number})"
    return f"[{over}/{total}] {trial.line()}{words}"
