"""Training on several workers of a Ray cluster: THE loop, in a world that Ray makes; killed workers are replaced.

Checkpoints are the run's own, in its work directory beside the model, which every node must reach: whatever the number
of workers after a restart, training goes on from the last one.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidrec.cluster.hearing import FarProgress, listening
from sidrec.cluster.refusals import again, told
from sidrec.cluster.session import ray_session
from sidrec.core.errors import SettingsError, SidrecError, TrainingError
from sidrec.core.locks import patient
from sidrec.core.places import everywhere, mirrored
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.storage import remove, storage_errors, temporary
from sidrec.pipeline import train as stage
from sidrec.pipeline.recipes import Recipe, Successor

RESTARTS = 3
"""How often workers that died in the same training are replaced; a node that is taken away does not count."""
_PATIENCE = 12 * 3600
"""Seconds that workers wait for one another: the leading one embeds and validates while the others wait."""
_REFUSED = "refused.json"


@dataclass(frozen=True)
class Crew:
    """How many workers, at least and at most, and the cluster they come from (None: this machine)."""

    workers: int
    min_workers: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        if self.workers < 1 or not 1 <= (self.min_workers or self.workers) <= self.workers:
            words = "at least one, and not more at least than at most"
            raise SettingsError(
                f"{self.min_workers or self.workers} to {self.workers} workers cannot train; give {words}.",
                arguments=("workers", "min_workers"),
            )

    @property
    def range(self) -> int | tuple[int, int]:
        """As Ray wants it: a pair where the number may change while training goes on."""
        fewest = self.min_workers or self.workers
        return self.workers if fewest == self.workers else (fewest, self.workers)


@dataclass(frozen=True)
class Work:
    """What every worker does: the arguments of the training stage."""

    data: Path
    out: Path
    recipe: Recipe | Successor
    sids: Path | None = None
    unfinished: stage.Continue = "auto"
    adopt_search: bool = False


def train_on_ray(work: Work, crew: Crew, progress: Progress | None = None) -> stage.Trained:
    """`pipeline.train.train` by a crew; the model is that of one process with the same batch, up to rounding."""
    from sidrec.models.registry import load_model

    progress = progress or SilentProgress()
    options = work.recipe.build().training_options  # wrong settings are said before anything is started
    folder = mirrored(work.out).resolve().with_name(f".{work.out.name}.ray-{secrets.token_hex(4)}")
    with ray_session(crew.address, max(crew.workers, os.cpu_count() or 1)) as ray, listening(ray, progress) as ear:
        use_gpu = (options is None or options.device != "cpu") and ray.cluster_resources().get("GPU", 0) >= 1
        with storage_errors(folder):
            folder.mkdir(parents=True)
        try:
            found = _fit(_absolute(work), crew.range, folder, ear, use_gpu=use_gpu)
        finally:
            remove(folder)
    if "refused" in found:
        raise again(found["refused"])
    return stage.Trained(load_model(work.out), skipped=found["skipped"])


def _fit(work: Work, workers: int | tuple[int, int], folder: Path, ear: Any, *, use_gpu: bool) -> dict[str, Any]:
    """What the leading worker has to say at the end."""
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer
    from ray.train.v2.api.exceptions import TrainingFailedError

    trainer = TorchTrainer(
        _work_together,
        train_loop_config={"work": work, "ear": ear, "folder": folder},
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=use_gpu),
        run_config=RunConfig(name="ray", storage_path=str(folder), failure_config=FailureConfig(max_failures=RESTARTS)),
        torch_config=TorchConfig(timeout_s=_PATIENCE),
    )
    try:
        return dict(_in_a_thread(trainer.fit).return_value)
    except TrainingFailedError as error:
        words = (
            f"workers died more than {RESTARTS} times; the last checkpoint is kept, the same command goes on from it"
        )
        raise TrainingError(f"{work.out}: {words}. The last words of a worker: {_last_line(error)}") from error


def _in_a_thread(fit: Callable[[], Any]) -> Any:
    """In the main thread Ray Train takes Ctrl-C for itself; how this program ends stays its own affair."""
    found: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(fit())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="training on Ray", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    if failed:
        raise failed[0]
    return found[0]


def _work_together(config: dict[str, Any]) -> dict[str, Any]:
    """In every worker: the training stage as one of a world; what a user can cause is said once, not tried again."""
    import ray.train
    from ray.train.torch import get_device

    from sidrec.training.distributed import World, handed_in

    work, refused = config["work"], config["folder"] / _REFUSED
    if refused.is_file():
        return {"refused": refused.read_text()}
    context = ray.train.get_context()
    world = World(context.get_world_rank(), context.get_world_size(), get_device())
    progress = FarProgress(config["ear"]) if world.leads else SilentProgress()
    try:
        # a leading worker that is on its way out may still hold the lock
        with handed_in(world), patient(progress.note):
            done = stage.train(
                work.data,
                work.out,
                work.recipe,
                sids=work.sids,
                unfinished=work.unfinished,
                adopt_search=work.adopt_search,
                progress=progress,
            )
    except SidrecError as error:
        if not refused.exists():  # whoever was first has said why; the others fail because of him
            unfinished = temporary(refused)
            unfinished.write_text(told(error))
            unfinished.replace(refused)
        raise
    return {"skipped": done.skipped}


def _absolute(work: Work) -> Work:
    """Workers have working directories of their own."""
    recipe = work.recipe
    if isinstance(recipe, Successor):
        recipe = Successor(Path(everywhere(recipe.path)), recipe.changes)
    sids = None if work.sids is None else Path(everywhere(work.sids))
    data, out = Path(everywhere(work.data)), Path(everywhere(work.out))
    return Work(data, out, recipe, sids, work.unfinished, work.adopt_search)


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
