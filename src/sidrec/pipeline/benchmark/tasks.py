"""The work of a benchmark in pieces that can be done side by side."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sidrec.core.progress import SilentProgress
from sidrec.core.storage import storage_errors
from sidrec.pipeline.benchmark.cells import Cell, Places
from sidrec.pipeline.benchmark.plan import Plan
from sidrec.pipeline.benchmark.run_cells import make_embeddings, make_sids, message_of, run_cells

Kind = Literal["embeddings", "sids", "model"]
SHARED: tuple[Kind, ...] = ("embeddings", "sids")
"""What models share, in the order in which it is made."""
Run = Callable[["Task"], str]
"""Do a task; the words of its failure come back, nothing where it went well."""


@dataclass(frozen=True)
class Task:
    """Vectors or semantic IDs that models share, or a model with all cells that use it."""

    kind: Kind
    name: str
    cells: tuple[Cell, ...]

    @property
    def words(self) -> str:
        return f"{self.kind}-{self.name}"


def tasks_of(kind: Kind, cells: Sequence[Cell]) -> list[Task]:
    """The different tasks of a kind that these cells need."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(_name(kind, cell), []).append(cell)
    return [Task(kind, name, tuple(group)) for name, group in groups.items() if name]


def _name(kind: Kind, cell: Cell) -> str:
    if kind == "model":
        return cell.model_name
    if cell.sids is None:
        return ""
    return cell.sids.embedding_name if kind == "embeddings" else cell.sids.name


def perform(plan: Plan, task: Task, places: Places) -> None:
    """Do it in this process."""
    progress, request = SilentProgress(), task.cells[0].sids
    if task.kind == "model":
        run_cells(plan, task.cells, places, progress)
    elif request is not None:
        (make_embeddings if task.kind == "embeddings" else make_sids)(request, places, progress)


def run_all(tasks: Sequence[Task], run: Run, processes: int) -> Iterator[tuple[Task, str]]:
    """Each task with the words of its failure, in the order they end; at most `processes` at a time."""
    if processes == 1:
        yield from ((task, run(task)) for task in tasks)
        return
    pool = ThreadPoolExecutor(processes)
    waiting = {pool.submit(run, task): task for task in tasks}
    try:
        for done in as_completed(waiting):
            yield waiting[done], done.result()
    finally:  # whoever is stopped in the middle must not wait for tasks that run for hours
        pool.shutdown(wait=False, cancel_futures=True)


def run_here(plan: Plan, places: Places) -> Run:
    def run(task: Task) -> str:
        try:
            perform(plan, task, places)
        except Exception as error:
            _keep_log(places, task, traceback.format_exc())
            return message_of(error)
        _log(places, task).unlink(missing_ok=True)  # of a failure before
        return ""

    return run


def _log(places: Places, task: Task) -> Path:
    return places.out / "logs" / f"{task.words}.log"


def _keep_log(places: Places, task: Task, text: str) -> None:
    file = _log(places, task)
    with storage_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
