from __future__ import annotations

import subprocess
import sys
import threading
import time

import psutil
import pytest

from reference.odd_jobs import odd_job
from reference.small_plan import small_plan, small_shop
from sidrec.models.ingredients import Data
from sidrec.pipeline.benchmark import processes
from sidrec.pipeline.benchmark.cells import Places, cells_of
from sidrec.pipeline.benchmark.processes import STOPPED, Processes
from sidrec.pipeline.benchmark.run_files import write_run
from sidrec.pipeline.benchmark.tasks import Task, model_tasks, run_all, run_here, shared_tasks

pytestmark = pytest.mark.slow


def told(name: str) -> Task:
    return Task("model", Data(name))


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """Processes that do odd jobs."""
    monkeypatch.setattr(processes, "_do", odd_job)
    found = Processes(tmp_path, threads=3)
    yield found
    found.stop()


def test_a_process_answers_as_this_one_does_and_goes_on(tmp_path):
    places, plan = Places(tmp_path / "out"), small_plan(small_shop(tmp_path))
    places.out.mkdir()
    cells, workers = cells_of(plan), Processes(places.out, threads=1)
    write_run(places, plan, cells)
    tasks = [*shared_tasks(cells, 0), *shared_tasks(cells, 1), *model_tasks(cells)[:2]]
    try:
        assert [workers(task) for task in tasks] == [run_here(plan, places)(task) for task in tasks]
        assert len(workers._all) == 1
    finally:
        workers.stop()


def test_a_process_that_dies_fails_its_task_and_is_replaced(odd, tmp_path):
    names = ["a", "dies", "b", "c"]
    found = {task.stage.name: answer for task, answer in run_all([told(name) for name in names], odd, 2)}
    assert "signal 9" in found["dies"]
    assert all(found[name].isdigit() for name in "abc")


def test_threads_and_words_of_libraries_stay_inside(odd, tmp_path, capfd):
    assert odd(told("threads")) == "3"
    assert odd(told("speaks")).isdigit()
    assert capfd.readouterr().out == ""
    assert "a library prints" in (tmp_path / "logs" / "workers.log").read_text(encoding="utf-8")


def test_whoever_is_stopped_stops_at_once(odd, tmp_path):
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(odd(told("sleeps"))))
    thread.start()
    while not (tmp_path / "asleep").exists():
        assert thread.is_alive()
        time.sleep(0.01)
    odd.stop()
    thread.join()
    assert "signal 9" in answers[0]
    assert odd(told("a")) == STOPPED


def test_who_has_answered_leaves_by_himself(odd):
    """Killed at the end he would leave what his libraries share with other processes, and Python would complain."""
    assert odd(told("a")).isdigit()
    process = odd._all[0].process
    odd.stop()
    assert process.exitcode == 0


class _SlowToTell:
    """A process somebody else has waited for, who notes its end a moment later."""

    def __init__(self, asked: int) -> None:
        self.asked = asked

    def join(self, timeout: float | None = None) -> None:
        self.asked -= 1

    @property
    def exitcode(self) -> int | None:
        return None if self.asked > 0 else -9


def test_an_end_that_is_noted_late_is_still_told():
    assert processes._code_of(_SlowToTell(3)) == -9


SCRIPT = """
import sys, threading, time
from pathlib import Path
from sidrec.pipeline.benchmark.processes import ProcessPoolExecutor, _begin, multiprocessing
pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), initializer=_begin, initargs=("log", 1))
print(pool.submit(__import__("os").getpid).result(), flush=True)
pool.submit(time.sleep, 600).result()
"""


def test_a_process_ends_with_whoever_started_it(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    while is_alive(child):
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
