from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from reference.small_plan import small_plan, small_shop
from sidrec.core.progress import SilentProgress
from sidrec.models.ingredients import Data
from sidrec.pipeline.benchmark.cells import Places, cells_of
from sidrec.pipeline.benchmark.run_cells import prepare_data
from sidrec.pipeline.benchmark.tasks import Task, model_tasks, run_all, run_here, shared_tasks


@pytest.fixture
def plan(tmp_path):
    return small_plan(small_shop(tmp_path))


def test_tasks_are_what_cells_share(plan):
    cells = cells_of(plan)
    assert [(task.stage.room, len(task.cells)) for task in shared_tasks(cells, 0)] == [("embeddings", 4)]
    assert [(task.stage.room, len(task.cells)) for task in shared_tasks(cells, 1)] == [("sids", 3), ("sids", 1)]
    assert shared_tasks(cells, 2) == []
    assert [len(task.cells) for task in model_tasks(cells)] == [1, 1, 3, 1]


def test_never_more_at_a_time_than_asked():
    running, most, lock, all_three = 0, 0, threading.Lock(), threading.Barrier(3, timeout=60)

    def run(task: Task) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        all_three.wait()  # three are there together, or this breaks
        with lock:
            running -= 1
        return "" if task.stage.name != "3" else "no"

    tasks = [Task("model", Data(str(number))) for number in range(9)]
    found = {task.stage.name: message for task, message in run_all(tasks, run, 3)}
    assert most == 3
    assert found == {str(number): "no" if number == 3 else "" for number in range(9)}


def test_whoever_is_stopped_does_not_wait_for_running_tasks():
    may_end = threading.Event()
    tasks = [Task("model", Data(str(number))) for number in range(4)]
    started = []

    def run(task: Task) -> str:
        started.append(task.stage.name)
        return "" if task.stage.name == "0" else str(may_end.wait(30))

    found = run_all(tasks, run, 2)
    assert next(found)[0].stage.name == "0"
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        found.throw(KeyboardInterrupt)
    assert time.monotonic() - began < 10
    may_end.set()
    assert "3" not in started


def test_ctrl_c_is_heard_while_tasks_run():
    may_end = threading.Event()

    def run(task: Task) -> str:
        if task.stage.name == "1":
            os.kill(os.getpid(), signal.SIGINT)
        return str(may_end.wait(30))

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            list(run_all([Task("model", Data(str(number))) for number in range(2)], run, 2))
    finally:
        may_end.set()
        signal.signal(signal.SIGINT, before)


def test_a_failure_here_is_words_and_a_log(plan, tmp_path):
    places = Places(tmp_path / "out")
    task = model_tasks(cells_of(plan))[0]
    message = run_here(plan, places)(task)  # nothing was prepared
    assert "no such directory" in message
    assert "Traceback" in (places.out / "logs" / f"{task.words}.log").read_text(encoding="utf-8")
    prepare_data(plan, "shop", places, SilentProgress())
    assert run_here(plan, places)(task) == ""
    assert list((places.out / "logs").iterdir()) == []
