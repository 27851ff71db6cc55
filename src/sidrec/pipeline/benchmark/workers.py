"""Processes that do tasks of a benchmark one after the other; one that dies fails its task and is replaced."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from sidrec.core.storage import storage_errors
from sidrec.pipeline.benchmark.cells import Cell, Places
from sidrec.pipeline.benchmark.run_files import read_cells_of, read_plan_of
from sidrec.pipeline.benchmark.tasks import Kind, Task, model_tasks, run_here
from sidrec.pipeline.stages import made_first

LOG = "workers.log"


class Workers:
    """A `Run` that hands tasks to processes; as many are started as ever run at a time."""

    def __init__(self, places: Places, threads: int) -> None:
        self._command = [sys.executable, "-m", "sidrec.pipeline.benchmark.workers", str(places.out)]
        self._environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
        self._idle: queue.SimpleQueue[subprocess.Popen[str]] = queue.SimpleQueue()
        self._all: list[subprocess.Popen[str]] = []
        with storage_errors(places.out):
            (places.out / "logs").mkdir(parents=True, exist_ok=True)
            self._log: IO[str] = (places.out / "logs" / LOG).open("a", encoding="utf-8")

    def __call__(self, task: Task) -> str:
        worker = self._worker()
        answer = _ask(worker, task)
        if answer is None:
            return _last_words(worker)
        self._idle.put(worker)
        return answer

    def stop(self) -> None:
        """At the end, and also in the middle of a task: what is unfinished goes on in the next run."""
        for worker in self._all:
            worker.kill()
            worker.communicate()
        self._log.close()

    def _worker(self) -> subprocess.Popen[str]:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            pipe = subprocess.PIPE
            worker = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, stderr=self._log, env=self._environment, text=True
            )
            self._all.append(worker)
            return worker


def _ask(worker: subprocess.Popen[str], task: Task) -> str | None:
    """The words of the task's failure; None where the process died over it."""
    assert worker.stdin is not None and worker.stdout is not None
    try:
        worker.stdin.write(json.dumps([task.kind, task.name]) + "\n")
        worker.stdin.flush()
        return str(json.loads(worker.stdout.readline()))
    except (OSError, ValueError):
        return None


def _last_words(worker: subprocess.Popen[str]) -> str:
    code = worker.wait()
    if code < 0:
        return f"its process was ended by signal {-code}; with 9 that is often a lack of memory."
    return f"its process ended with code {code}; see logs/{LOG}."


def serve(out: Path) -> None:
    """The other side: do the tasks that are named on standard input, and end when it closes, even in the middle.

    It closes when whoever started this process is gone; nobody would read the answer.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not look like an answer
    names: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(names,), daemon=True).start()
    places = Places(out)
    cells, run = read_cells_of(places), run_here(read_plan_of(places), places)
    while True:
        kind, name = json.loads(names.get())
        answers.write(json.dumps(run(_find(kind, name, cells))) + "\n")
        answers.flush()


def _find(kind: Kind, name: str, cells: Sequence[Cell]) -> Task:
    if kind == "model":
        return next(task for task in model_tasks(cells) if task.name == name)
    stages = (stage for cell in cells for stage in made_first(cell.stage))
    return next(task for task in (Task("stage", stage) for stage in stages) if task.name == name)


def _listen(names: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        names.put(line)
    os._exit(0)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
