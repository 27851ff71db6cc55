from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from reference.small_plan import small_plan, small_shop
from sidrec.models.ingredients import Data
from sidrec.pipeline.benchmark.cells import Places, cells_of
from sidrec.pipeline.benchmark.run_files import write_run
from sidrec.pipeline.benchmark.tasks import Task, model_tasks, run_here, shared_tasks
from sidrec.pipeline.benchmark.workers import Workers


@pytest.fixture
def places(tmp_path) -> Places:
    found = Places(tmp_path / "out")
    found.out.mkdir()
    plan = small_plan(small_shop(tmp_path))
    write_run(found, plan, cells_of(plan))
    return found


@pytest.mark.slow
def test_a_worker_answers_as_this_process_does_and_goes_on(places, tmp_path):
    plan = small_plan(tmp_path / "shop")
    cells, workers = cells_of(plan), Workers(places, threads=1)
    tasks = [*shared_tasks(cells, 0), *shared_tasks(cells, 1), *model_tasks(cells)[:2]]
    try:
        assert [workers(task) for task in tasks] == [run_here(plan, places)(task) for task in tasks]
        assert len(workers._all) == 1
    finally:
        workers.stop()


@pytest.mark.slow
def test_a_worker_ends_with_whoever_started_it(places):
    words = [sys.executable, "-m", "sidrec.pipeline.benchmark.workers", str(places.out)]
    worker = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    worker.stdin.close()
    assert worker.wait(timeout=60) == 0
    worker.stdout.close()


def test_a_worker_that_is_killed_fails_its_task_and_is_replaced(places):
    workers = Workers(places, threads=1)
    dies = "'bad' in sys.stdin.readline() and os.kill(os.getpid(), 9)"
    script = f"import os, sys; {dies}; print('\"\"', flush=True); sys.stdin.read()"
    workers._command = [sys.executable, "-c", script]
    try:
        assert f"signal {signal.SIGKILL.value}" in workers(Task("model", Data("bad")))
        assert workers(Task("model", Data("good"))) == ""
    finally:
        workers.stop()
    deadline = time.monotonic() + 10
    while any(worker.poll() is None for worker in workers._all) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert all(worker.poll() is not None for worker in workers._all)


def test_workers_use_the_asked_number_of_threads(places):
    workers = Workers(places, threads=3)
    workers._command = [sys.executable, "-c", "import os; input(); print('\"' + os.environ['OMP_NUM_THREADS'] + '\"')"]
    try:
        assert workers(Task("model", Data("any"))) == "3"
        assert os.environ.get("OMP_NUM_THREADS") != "3"
    finally:
        workers.stop()
