"""The work of a benchmark in pieces that can be done side by side."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sidrec.core.progress import SilentProgress
from sidrec.core.replacing import replacing
from sidrec.core.stages import Stage, Stages
from sidrec.core.storage import storage_errors
from sidrec.models.ingredients import Data
from sidrec.pipeline.benchmark.cells import Cell, Places
from sidrec.pipeline.benchmark.plan import Plan
from sidrec.pipeline.benchmark.run_cells import message_of, run_cells
from sidrec.pipeline.stages import made_first

Kind = Literal["stage", "model"]
Run = Callable[["Task"], str]
"""Do a task; the words of its failure come back, nothing where it went well."""


@dataclass(frozen=True)
class Task:
    """A stage that models share, or a model with all cells that use it."""

    kind: Kind
    stage: Stage[Any]
    cells: tuple[Cell, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.stage.room}/{self.stage.name}"

    @property
    def words(self) -> str:
        return f"{self.kind}-{self.stage.room}-{self.stage.name}"


def shared_tasks(cells: Sequence[Cell], level: int) -> list[Task]:
    """What must be there before any of these cells' models; tasks of a level need only what earlier levels made."""
    users: dict[tuple[str, str], list[Cell]] = {}
    stages: dict[tuple[str, str], Stage[Any]] = {}
    for cell in cells:
        for stage in made_first(cell.stage):
            if _level(stage) == level:
                stages[stage.room, stage.name] = stage
                users.setdefault((stage.room, stage.name), []).append(cell)
    return [Task("stage", stage, tuple(users[key])) for key, stage in stages.items()]


def model_tasks(cells: Sequence[Cell]) -> list[Task]:
    """The different models of these cells."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.stage.name, []).append(cell)
    return [Task("model", group[0].stage, tuple(group)) for group in groups.values()]


def _level(stage: Stage[Any]) -> int:
    """How many stages, data not counted, lie below on the longest way."""
    return max((_level(need) + 1 for need in stage.needs if not isinstance(need, Data)), default=0)


@replacing()  # the folders of a benchmark follow its plan
def perform(plan: Plan, task: Task, places: Places) -> None:
    """Do it in this process."""
    if task.kind == "model":
        run_cells(plan, task.cells, places, SilentProgress())
    else:
        Stages(places.of, SilentProgress()).get(task.stage)


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
