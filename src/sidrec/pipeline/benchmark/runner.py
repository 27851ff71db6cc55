"""The benchmark runner: a plan in, every cell judged, whatever was finished before kept and whatever fails named."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sidrec.core.artifacts import storage_errors
from sidrec.core.locks import locked
from sidrec.core.progress import Progress, ProgressTask, SilentProgress
from sidrec.pipeline.benchmark.cells import Cell, Places, cells_of
from sidrec.pipeline.benchmark.plan import Plan
from sidrec.pipeline.benchmark.processes import Processes
from sidrec.pipeline.benchmark.records import CellRecord
from sidrec.pipeline.benchmark.run_cells import failed_record, finished_record, message_of, prepare_data
from sidrec.pipeline.benchmark.run_files import write_run
from sidrec.pipeline.benchmark.tasks import Crew, model_tasks, run_all, run_here, shared_tasks

Engage = Callable[[Places], AbstractContextManager[Crew]]
"""Whoever does the tasks of a run that is written down in these places, for as long as the block lasts."""


@dataclass(frozen=True)
class BenchmarkResult:
    """The records in the plan's order."""

    out: Path
    records: list[CellRecord]
    budget: str
    seconds: float

    @property
    def failed(self) -> list[CellRecord]:
        return [record for record in self.records if record.status == "failed"]

    def as_dict(self) -> dict[str, Any]:
        counts = {status: sum(r.status == status for r in self.records) for status in ("done", "skipped", "failed")}
        return {
            "out": str(self.out),
            "cells": len(self.records),
            **counts,
            "budget": self.budget,
            "seconds": round(self.seconds, 1),
            "records": [asdict(record) for record in self.records],
        }


def benchmark(
    plan: Plan,
    out: Path,
    *,
    processes: int | None = None,
    progress: Progress | None = None,
    engage: Engage | None = None,
) -> BenchmarkResult:
    """Run every cell of the plan that is not finished; one that fails is recorded and the others go on.

    `engage` brings those who do the work; by default it is this process, or so many `processes` of this machine.
    """
    progress, engage = progress or SilentProgress(), engage or partial(_here, plan, processes or plan.processes)
    cells, places, began = cells_of(plan), Places(Path(out).resolve()), time.monotonic()
    with _alone(places.out), progress.task("benchmark", total=len(cells)) as task:
        write_run(places, plan, cells)
        board = _Board(len(cells), progress, task)
        ready = _with_data(plan, cells, places, board)
        open_cells = _unfinished(plan, ready, places, board)
        with engage(places) as crew:
            open_cells = _with_shared(open_cells, places, crew, board)
            for done, message in crew(model_tasks(open_cells)):
                _report(done.cells, places, message, board)
    records = [board.records[cell.name] for cell in cells]
    return BenchmarkResult(Path(out), records, plan.budgets_in_words(), time.monotonic() - began)


class _Board:
    """One line for every cell that is through."""

    def __init__(self, total: int, progress: Progress, task: ProgressTask) -> None:
        self._total, self._progress, self._task = total, progress, task
        self.records: dict[str, CellRecord] = {}

    def put(self, record: CellRecord) -> None:
        self.records[record.name] = record
        self._task.advance()
        self._progress.note(f"[{len(self.records)}/{self._total}] {record.line()}")

    def fail(self, cells: Sequence[Cell], message: str, places: Places) -> None:
        for cell in cells:
            record = failed_record(cell, message)
            record.write(places.record(cell))
            self.put(record)


def _with_data(plan: Plan, cells: list[Cell], places: Places, board: _Board) -> list[Cell]:
    """Prepare every data set; cells whose data cannot be had are failed."""
    left = cells
    for name in plan.datasets:
        try:
            prepare_data(plan, name, places, SilentProgress())
        except Exception as error:
            board.fail([cell for cell in left if cell.dataset == name], message_of(error), places)
            left = [cell for cell in left if cell.dataset != name]
    return left


def _unfinished(plan: Plan, cells: list[Cell], places: Places, board: _Board) -> list[Cell]:
    left = []
    for cell in cells:
        record = finished_record(plan, cell, places)
        if record is None:
            places.record(cell).unlink(missing_ok=True)
            left.append(cell)
        else:
            board.put(record)
    return left


def _with_shared(cells: list[Cell], places: Places, crew: Crew, board: _Board) -> list[Cell]:
    """Make what models share (vectors, semantic IDs, models that vectors come from) before any of them is trained."""
    level = 0
    while tasks := shared_tasks(cells, level):
        broken: set[str] = set()
        for task, message in crew(tasks):
            if message:
                failed = [cell for cell in task.cells if cell.name not in broken]
                broken |= {cell.name for cell in failed}
                board.fail(failed, message, places)
        cells, level = [cell for cell in cells if cell.name not in broken], level + 1
    return cells


def _report(cells: Sequence[Cell], places: Places, message: str, board: _Board) -> None:
    """Records are written by whoever judged; what has none died before."""
    for cell in cells:
        record = CellRecord.read(places.record(cell))
        if record is None:
            board.fail([cell], message or "ended without a result", places)
        else:
            board.put(record)


@contextmanager
def _here(plan: Plan, processes: int, places: Places) -> Iterator[Crew]:
    if processes == 1:
        yield lambda tasks: run_all(tasks, run_here(plan, places), 1)
        return
    run = Processes(places.out, threads=max(1, (os.cpu_count() or 1) // processes))
    try:
        yield lambda tasks: run_all(tasks, run, processes)
    finally:
        run.stop()


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Two benchmarks in one directory would train over each other."""
    with locked(out):
        with storage_errors(out):
            out.mkdir(parents=True, exist_ok=True)
        yield
