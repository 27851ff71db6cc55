"""A search on Ray: Ray Tune runs the trials on the cluster, Optuna chooses and prunes them in this process.

Ray Tune finds a machine for every trial, tries it again where that machine is lost, and ends it where it falls behind;
which trials there are, and how they ended, stands in the search's own file alone, as without Ray.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sidrec.cluster.refusals import again, told
from sidrec.cluster.session import import_ray, ray_session
from sidrec.core.errors import SidrecError
from sidrec.core.locks import locked_if_free
from sidrec.core.storage import remove
from sidrec.pipeline.recipes import Recipe
from sidrec.pipeline.tuning.run_trial import Bench, clear, run_trial
from sidrec.pipeline.tuning.search import Search
from sidrec.pipeline.tuning.trials import Trial, Trials
from sidrec.pipeline.tuning.tune import Engage

RETRIES = 3
"""How often a trial is tried again whose process or machine died; it goes on from its last checkpoint."""
_ENDING_S = 30.0
_QUIET = {"TUNE_DISABLE_SIGINT_HANDLER": "1", "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1", "TUNE_WARN_SLOW": "0"}


def on_ray(address: str | None = None, *, at_most: int | None = None) -> Engage:
    """For `tune(..., engage=on_ray())`: as many trials at a time as the cluster has CPUs, or `at_most`."""

    def engage(kept: Trials, search: Search, bench: Bench, total: int, ended: Callable[[Trial], None]) -> None:
        import_ray()
        os.environ |= {name: value for name, value in _QUIET.items() if name not in os.environ}
        with ray_session(address) as ray, Desk(kept, search, bench, total, ended) as desk:
            _fit(ray, desk, at_most)
            if desk.refused:
                raise again(desk.refused)

    return engage


class Desk:
    """Where Ray Tune asks for trials and says what becomes of them; its trials are known by names of its own."""

    def __init__(self, kept: Trials, search: Search, bench: Bench, total: int, ended: Callable[[Trial], None]) -> None:
        self.bench, self._kept, self._search, self._total, self._ended = bench, kept, search, total, ended
        self._taken: dict[str, tuple[Trial, ExitStack]] = {}
        self._to_clear: list[Path] = []
        self.refused = ""
        """What a user has caused in a worker, where it cannot be done at all."""

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_why: object) -> None:
        for _, claim in self._taken.values():  # what is not over is taken up by the next run
            claim.close()
        for place in self._to_clear:
            _clear_when_free(place)

    def __reduce__(self) -> tuple[type[object], tuple[()]]:
        """Ray Tune keeps a copy of what it was called with, which nobody reads; locks and screens cannot be copied."""
        return object, ()

    def suggest(self, name: str) -> dict[str, Any] | None:
        """All that a worker needs for the next trial; nothing where no trial is left."""
        if self.refused:
            return None
        claim = ExitStack()
        trial = claim.enter_context(self._kept.take(self._total))
        if trial is None:
            claim.close()
            return None
        self._taken[name] = trial, claim
        recipe = self._search.recipe(trial.chosen)
        told = {"key": recipe.key, "values": recipe.values, "where": recipe.where}
        return {"trial": asdict(trial), "recipe": told, "data": str(self.bench.data), "out": str(self.bench.out)}

    def falls_behind(self, name: str, epoch: int, value: float) -> bool:
        return name in self._taken and self._kept.report(self._taken[name][0].number, epoch, value)

    def complete(self, name: str, result: dict[str, Any] | None, *, error: bool) -> None:
        """A trial came to its end, was stopped because it fell behind, or could not be done."""
        trial, claim = self._taken.pop(name)
        with claim:
            found = result or {}
            if found.get("refused"):
                self.refused = found["refused"]
                return
            if found.get("ended"):
                self._ended(Trial(**json.loads(found["ended"])))
                return
            self._to_clear.append(self.bench.place(trial.number))  # its worker is stopped when this has been heard
            words = {"state": "failed", "message": "its machines were lost"} if error else {"state": "pruned"}
            spent = {"epochs": found.get("epoch", 0), "seconds": found.get("time_total_s", 0.0)}
            self._ended(Trial(**{**asdict(trial), **words, **spent}))


def _clear_when_free(place: Path) -> None:
    """The worker of a trial may take a moment to end; what it still holds after that is cleared by the next search."""
    end = time.monotonic() + _ENDING_S
    while time.monotonic() < end:
        with locked_if_free(place) as free:
            if free:
                clear(place)
                return
        time.sleep(0.2)


def _fit(ray: Any, desk: Desk, at_most: int | None) -> None:
    from ray import tune
    from ray.tune.schedulers import FIFOScheduler
    from ray.tune.search import Searcher

    class Asks(Searcher):  # type: ignore[misc]
        def suggest(self, trial_id: str) -> Any:
            return desk.suggest(trial_id) or Searcher.FINISHED

        def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
            desk.complete(trial_id, result, error=error)

        def save(self, checkpoint_path: str) -> None:
            """The trials are kept elsewhere."""

        def restore(self, checkpoint_path: str) -> None:
            """The trials are kept elsewhere."""

    class Prunes(FIFOScheduler):  # type: ignore[misc]
        def on_trial_result(self, tune_controller: Any, trial: Any, result: Any) -> str:  # noqa: ARG002
            told = "value" in result and desk.falls_behind(trial.trial_id, result["epoch"], result["value"])
            return str(FIFOScheduler.STOP if told else FIFOScheduler.CONTINUE)

    gpus = 1 if ray.cluster_resources().get("GPU", 0) >= 1 else 0
    notes = desk.bench.out / ".ray"
    try:
        tune.Tuner(
            tune.with_resources(_work, {"cpu": 1, "gpu": gpus}),
            tune_config=tune.TuneConfig(
                search_alg=Asks(), scheduler=Prunes(), num_samples=-1, max_concurrent_trials=at_most
            ),
            run_config=tune.RunConfig(
                name="tune",
                storage_path=str(notes),
                verbose=0,
                failure_config=tune.FailureConfig(max_failures=RETRIES),
            ),
        ).fit()
    finally:
        remove(notes)


def _work(config: dict[str, Any]) -> None:
    """A trial in a worker."""
    from ray import tune

    def tell(epoch: int, value: float) -> bool:
        tune.report({"epoch": epoch, "value": value})
        return False  # whoever falls behind is stopped from outside

    recipe, bench = Recipe(**config["recipe"]), Bench(Path(config["data"]), Path(config["out"]))
    try:
        ended = run_trial(Trial(**config["trial"]), recipe, bench, tell)
    except SidrecError as error:
        tune.report({"refused": told(error)})
        return
    tune.report({"ended": json.dumps(asdict(ended))})  # as text: Ray Tune would take a table apart
