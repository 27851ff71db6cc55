"""The work of a benchmark in pieces that can be done side by side."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
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
from sidrec.pipeline.benchmark.run_files import read_cells_of, read_plan_of
from sidrec.pipeline.stages import made_first

Kind = Literal["stage", "model"]
Run = Callable[["Task"], str]
"""Do a task; the words of its failure come back, nothing where it went well."""
Crew = Callable[[Sequence["Task"]], Iterator[tuple["Task", str]]]
"""Do tasks side by side; each comes back with the words of its failure, in the order they end."""


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
        while waiting:  # in short waits: where a library has hooked Ctrl-C, an endless one does not hear of it
            ended, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
            yield from ((waiting.pop(done), done.result()) for done in ended)
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


def do_named(out: str, kind: Kind, name: str) -> str:
    """Do a task of the run that is written down in `out`, in whatever process this is."""
    cells, run = _written_run(out, Places(Path(out)).plan.stat().st_mtime_ns)
    return run(_named_task(kind, name, cells))


@functools.lru_cache(1)
def _written_run(out: str, changed: int) -> tuple[list[Cell], Run]:  # noqa: ARG001  (another plan is another run)
    places = Places(Path(out))
    return read_cells_of(places), run_here(read_plan_of(places), places)


def _named_task(kind: Kind, name: str, cells: Sequence[Cell]) -> Task:
    if kind == "model":
        return next(task for task in model_tasks(cells) if task.name == name)
    stages = (stage for cell in cells for stage in made_first(cell.stage))
    return next(task for task in (Task("stage", stage) for stage in stages) if task.name == name)


def _log(places: Places, task: Task) -> Path:
    return places.out / "logs" / f"{task.words}.log"


def _keep_log(places: Places, task: Task, text: str) -> None:
    file = _log(places, task)
    with storage_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
