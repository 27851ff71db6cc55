"""THE training loop: every model and every learned tokenizer trains through `train`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sidrec.core.errors import SettingsError, TrainingError
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.storage import storage_errors
from sidrec.training import checkpoints, seeding, watching
from sidrec.training.checkpoints import RunState, Snapshot
from sidrec.training.clock import Clock
from sidrec.training.curve import draw_curve
from sidrec.training.distributed import World
from sidrec.training.meter import HistoryFile, Meter
from sidrec.training.objective import Objective, TrainingResult
from sidrec.training.optimizer import Optimizer
from sidrec.training.options import TrainingOptions
from sidrec.training.precision import choose_precision
from sidrec.training.steps import DivergedError, Steps
from sidrec.training.tracking import Trackers, check_trackers
from sidrec.training.weights import copied, learned, put_back


def train(
    module: nn.Module,
    objective: Objective,
    options: TrainingOptions,
    *,
    workdir: Path | None = None,
    progress: Progress | None = None,
    name: str = "training",
    world: World | None = None,
) -> TrainingResult:
    """Train `module` in place; it ends with the weights of its best epoch (the last one without a metric).

    With a `workdir` training survives a kill: called again with the same arguments it goes on from its last
    checkpoint, with the weights the uninterrupted run would have had; a finished training returns at once.
    `world` is this process among those that train together; by default what the launcher's environment says.
    Gradients are off and the module is in evaluation mode while figures are measured, and when `train` returns.
    """
    if objective.n_samples < 1:
        raise TrainingError(f"{name}: there is nothing to learn from (0 samples); check the data and its split.")
    check_trackers(options, workdir)
    if workdir is not None:
        with storage_errors(workdir):
            workdir.mkdir(parents=True, exist_ok=True)
    # the steps seed the global generator; the caller's own draws must not depend on having trained
    with torch.random.fork_rng(devices=[]):
        world = world or World.here(options.device)
        return _Run(module, objective, options, world, workdir, name).complete(progress or SilentProgress())


def check_machine(options: TrainingOptions) -> None:
    """Refuse a device or a precision that this machine does not have; for whoever has other work to do before."""
    choose_precision(options.precision, World.here(options.device).device)


class _Run:
    """One training from start or resumption to its end."""

    def __init__(
        self,
        module: nn.Module,
        objective: Objective,
        options: TrainingOptions,
        world: World,
        workdir: Path | None,
        name: str,
    ) -> None:
        self.objective, self.options, self.workdir, self.name = objective, options, workdir, name
        self.world = world
        self.precision = choose_precision(options.precision, world.device)
        self.module = module.to(world.device)
        self.origin = checkpoints.origin(module, objective.n_samples, options)
        self.state = RunState()
        self.best: dict[str, Tensor] = {}
        self.batch_size = options.batch_for(objective.n_samples)
        self.steps_per_epoch = math.ceil(objective.n_samples / self.batch_size)
        self.optimizer = Optimizer(module, options, options.epochs * self.steps_per_epoch, self.precision)
        self.steps = Steps(module, objective, options, world, self.precision, self.optimizer)
        self.saved_at, self.clock = time.monotonic(), Clock()

    def complete(self, progress: Progress) -> TrainingResult:
        if not self.world.leads:
            progress = SilentProgress()
        self._resume(progress)
        if self._running():
            self.history = HistoryFile(self._own_workdir, self.state.history)
            with self._trackers(), progress.task(self.name, self.options.epochs * self.objective.n_samples) as task:
                self.meter = Meter(task, done=self._samples_done())
                while self._running():
                    self._epoch()
                self.meter.close()
            self._finish()
        else:
            progress.note(f"{self.name}: already finished after {len(self.state.history)} epochs.")
        if self.best:
            put_back(self.module, self.best)
        self.module.eval()
        return self._result()

    # -- steps

    def _epoch(self) -> None:
        self.module.train()
        order = seeding.epoch_order(self.options.seed, self.state.epoch, self.objective.n_samples)
        began = time.monotonic()
        first = self.state.step
        for step in range(first, self.steps_per_epoch):
            rows = order[step * self.batch_size : (step + 1) * self.batch_size]
            figures = self._step(rows)
            for key, value in figures.items():
                self.state.sums[key] = self.state.sums.get(key, 0.0) + value * len(rows)
            self.state.step += 1
            self.meter.step(len(rows), f"{self.state.epoch + 1}/{self.options.epochs}", figures)
            if self.state.step < self.steps_per_epoch:
                self._checkpoint_if_due()
        samples = self.objective.n_samples - first * self.batch_size
        self._end_epoch(samples / max(1e-9, time.monotonic() - began))

    def _step(self, rows: NDArray[np.int64]) -> dict[str, float]:
        try:
            return self.steps.take(rows, (self.state.epoch, self.state.step), self._steps_done())
        except DivergedError as error:
            self._give_up(str(error))

    def _give_up(self, what: str) -> NoReturn:
        kept = self.workdir is not None and (self.workdir / checkpoints.NAME).exists()
        how = f"resume: the last good checkpoint is kept in {self.workdir}." if kept else "train again."
        raise TrainingError(
            f"{self.name}: {what} in epoch {self.state.epoch + 1}, step {self.state.step + 1} of "
            f"{self.steps_per_epoch}; lower training.learning_rate (now {self.options.learning_rate:g}) "
            f"and {how}",
            arguments=("resume",) if kept else (),
        )

    # -- epochs

    def _end_epoch(self, samples_per_second: float) -> None:
        """Validate, keep the best weights, decide whether to go on, and only then do what belongs between epochs."""
        state = self.state
        entry: dict[str, float] = {"epoch": state.epoch + 1, "steps": self._steps_done()}
        entry |= {key: value / self.objective.n_samples for key, value in state.sums.items()}
        entry |= {"learning_rate": self.optimizer.rate, "samples_per_second": samples_per_second}
        figures = self._validate(state.epoch + 1)
        entry |= {f"validation/{key}": value for key, value in figures.items()}
        state.epoch, state.step, state.sums = state.epoch + 1, 0, {}
        state.finished = self.world.from_leader(self._reason_to_stop())
        if not state.finished:
            entry |= self._between_epochs()
        entry["seconds"] = self.clock.seconds
        state.history.append(entry)
        self.history.add(entry)
        self.trackers.log(entry)
        if not state.finished:  # the last checkpoint follows the curve, see _finish
            self._checkpoint_if_due()
        watching.tell(self.name, entry)

    def _validate(self, epoch: int) -> dict[str, float]:
        if epoch % self.options.validate_every and epoch != self.options.epochs:
            return {}
        figures: dict[str, float] = {}
        if self.world.leads:
            self.module.eval()
            with torch.no_grad(), self.precision.autocast():
                figures = {key: float(value) for key, value in self.objective.validate(self.module).items()}
            self.module.train()
        figures = self.world.from_leader(figures)
        if figures and self.options.metric is not None:
            self._select(figures, epoch, self.options.metric)
        return figures

    def _select(self, figures: dict[str, float], epoch: int, metric: str) -> None:
        """Keep the weights where the chosen figure is the best so far."""
        if metric not in figures:
            names = ", ".join(figures)
            raise SettingsError(f"training.metric = {metric}: validation measures {names}; name one of them.")
        goal, least = self.options.goal, self.options.min_improvement
        if self.state.stopping.observe(figures[metric], epoch, goal=goal, min_improvement=least):
            self.best = copied(learned(self.module))

    def _between_epochs(self) -> dict[str, float]:
        epoch = self.state.epoch - 1
        with torch.no_grad():
            draws = seeding.generator(self.options.seed, "between epochs", epoch)
            figures = self.objective.after_epoch(self.module, epoch, draws)
        self.world.equalise(self.module)
        return {f"between/{key}": float(value) for key, value in figures.items()}

    def _reason_to_stop(self) -> str:
        if self.state.epoch >= self.options.epochs:
            return "epochs"
        if self.state.stopping.exhausted(self.options.patience):
            return "patience"
        minutes = self.options.minutes
        return "minutes" if minutes is not None and self.clock.seconds >= 60.0 * minutes else ""

    # -- checkpoints

    def _resume(self, progress: Progress) -> None:
        """Take up the last checkpoint, if there is one; the leading process reads it for all."""
        if self.world.from_leader(self.origin.settings["frozen"]) != self.origin.settings["frozen"]:
            raise TrainingError(
                f"{self.name}: {checkpoints.OTHER_FROZEN_PART} in this process than in the leading one."
            )
        found = None if self._own_workdir is None else checkpoints.load(self._own_workdir, self.origin)
        found = self.world.from_leader(found)
        if found is None:
            self.state.planned = self.options.epochs
            self.world.equalise(self.module)
            return
        self.state, self.best = found.state, found.best
        self.clock.go_on(self.state.seconds, self.state.cpu_seconds)
        put_back(self.module, found.weights)
        self.optimizer.restore(found.optimizer, self.state.scale)
        if self.state.finished and self.state.goes_on(self.options):
            self.state.finished = ""
            self._between_epochs()
        if self._running():
            progress.note(self._resumed())
        self.state.planned = self.options.epochs

    def _resumed(self) -> str:
        """Says where training goes on; a run that gets longer than it was planned notes it for good."""
        state, epochs = self.state, self.options.epochs
        if state.planned in (0, epochs):
            return f"{self.name}: resumed at epoch {state.epoch + 1}, step {state.step + 1}."
        state.gone_on_from.append(state.epoch)
        rate = "" if self.options.schedule == "constant" else f"; the learning rate is from here on that of {epochs}"
        return f"{self.name}: going on from epoch {state.epoch} of {state.planned}, now {epochs}{rate}."

    def _checkpoint_if_due(self) -> None:
        if time.monotonic() - self.saved_at >= self.options.checkpoint_seconds:
            self._checkpoint()

    def _checkpoint(self) -> None:
        self.state.seconds, self.state.cpu_seconds = self.clock.seconds, self.clock.cpu_seconds
        if self._own_workdir is None:
            return
        self.state.scale = self.optimizer.scale()
        now = Snapshot(self.state, learned(self.module), self.optimizer.tensors(), self.best)
        checkpoints.save(self._own_workdir, self.origin, now)
        self.saved_at = time.monotonic()

    def _finish(self) -> None:
        """The checkpoint comes last: a training that has it has everything else."""
        if self._own_workdir is not None:
            best = self.state.stopping.best_epoch
            draw_curve(self._own_workdir / "curve.svg", self.state.history, title=self.name, best_epoch=best)
        self._checkpoint()

    @contextmanager
    def _trackers(self) -> Iterator[None]:
        options = self.options if self.world.leads else self.options.model_copy(update={"trackers": ()})
        self.trackers = Trackers(options, self.workdir, self.name)
        try:
            yield
        finally:
            self.trackers.close()

    # -- where we stand

    @property
    def _own_workdir(self) -> Path | None:
        """Only the leading process reads and writes files."""
        return self.workdir if self.world.leads else None

    def _steps_done(self) -> int:
        return self.state.epoch * self.steps_per_epoch + self.state.step

    def _samples_done(self) -> int:
        return self.state.epoch * self.objective.n_samples + self.state.step * self.batch_size

    def _running(self) -> bool:
        return not self.state.finished

    def _result(self) -> TrainingResult:
        state = self.state
        return TrainingResult(
            history=state.history,
            best_epoch=state.stopping.best_epoch,
            best_value=state.stopping.best_value,
            seconds=state.seconds,
            cpu_seconds=state.cpu_seconds,
            stopped_early=state.finished in ("patience", "minutes"),
            epochs=state.epoch,
            gone_on_from=tuple(state.gone_on_from),
        )
