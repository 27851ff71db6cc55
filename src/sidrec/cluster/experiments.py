"""A benchmark on Ray: its models are tasks of the cluster, tried again where a machine is lost.

All machines must see the benchmark's directory under the same path. A task that is tried again finds there what its
first try had finished, and waits where that one still breathes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sidrec.cluster.session import ray_session, worker_environment
from sidrec.core.locks import patient
from sidrec.pipeline.benchmark.cells import Places
from sidrec.pipeline.benchmark.runner import Engage
from sidrec.pipeline.benchmark.tasks import Crew, Kind, Task, do_named

RETRIES = 3
"""How often a task is tried again whose process or machine died; one that fails by itself is not."""


def on_ray(address: str | None = None, *, at_most: int | None = None, threads: int = 1) -> Engage:
    """For `benchmark(..., engage=on_ray())`: tasks of `threads` CPUs each, as many at a time as there is room for."""

    @contextmanager
    def engage(places: Places) -> Iterator[Crew]:
        with ray_session(address) as ray:
            crew = _RayCrew(ray, str(places.out), at_most, threads)
            try:
                yield crew
            finally:
                crew.stop()

    return engage


class _RayCrew:
    """Tasks wait in this process beyond `at_most`, else in Ray's own queue."""

    def __init__(self, ray: Any, out: str, at_most: int | None, threads: int) -> None:
        self._ray, self._out, self._at_most, self._threads = ray, out, at_most, threads
        self._do = ray.remote(max_retries=RETRIES, retry_exceptions=False)(_do)
        self._running: dict[Any, Task] = {}

    def __call__(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, str]]:
        waiting = iter(tasks)
        self._start(islice(waiting, self._at_most))
        while self._running:
            ended, _ = self._ray.wait(list(self._running), num_returns=1, timeout=1.0)  # so that Ctrl-C is heard
            for done in ended:
                task = self._running.pop(done)
                self._start(islice(waiting, 1))
                yield task, self._answer(done)

    def stop(self) -> None:
        """What is unfinished goes on in the next run."""
        for running in self._running:
            self._ray.cancel(running, force=True)

    def _start(self, tasks: Iterator[Task]) -> None:
        for task in tasks:
            needs = resources(task, self._ray.cluster_resources(), self._threads)
            asked = self._do.options(
                name=task.name,
                num_cpus=needs.cpus,
                num_gpus=needs.gpus,
                runtime_env=worker_environment(OMP_NUM_THREADS=str(self._threads)),
            )
            self._running[asked.remote(self._out, task.kind, task.name)] = task

    def _answer(self, ended: Any) -> str:
        try:
            return str(self._ray.get(ended))
        except self._ray.exceptions.RayError as error:
            words = " ".join(str(error).split()) or type(error).__name__
            return f"Ray could not do it: {words}"


@dataclass(frozen=True)
class Resources:
    """What a task takes of a machine while it runs."""

    cpus: int
    gpus: int


def resources(task: Task, cluster: Mapping[str, float], threads: int) -> Resources:
    """A model that trains where it can gets a GPU of its own, where the cluster has such; all else gets CPUs."""
    values = task.cells[0].recipe.values if task.kind == "model" and task.cells else {}
    device = values.get("training", {}).get("device", "cpu")
    wants = device in ("cuda", "auto") and cluster.get("GPU", 0) >= 1  # without one the task says so itself
    return Resources(threads, int(wants))


def _do(out: str, kind: Kind, name: str) -> str:
    with patient(lambda _: None):
        return do_named(out, kind, name)
