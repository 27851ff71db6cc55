"""Processes of this machine that do tasks of a benchmark; one that dies fails its task and is replaced.

Each is a pool of its own: a pool whose process dies is broken as a whole. Nothing heavy is imported here, because a
new process imports this file before it knows how many threads it may use.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

from sidrec.core.storage import storage_errors

if TYPE_CHECKING:
    from sidrec.pipeline.benchmark.tasks import Kind, Task

LOG = "workers.log"
STOPPED = "the benchmark was stopped."


@dataclass
class _Worker:
    """One process, started with its first task."""

    pool: ProcessPoolExecutor
    process: BaseProcess | None = field(default=None, init=False)
    answer: Future[str] | None = field(default=None, init=False)
    lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def ask(self, out: Path, task: Task) -> str:
        with self.lock:  # whoever stops this must not miss a process that is just being started
            answer = self.answer = self.pool.submit(_do, str(out), task.kind, task.name)
            self.process = self.process or next(iter(self.pool._processes.values()), None)
        return answer.result()

    def end(self) -> None:
        """In the middle of a task, too (`kill_workers` of Python 3.14); who has answered tidies up and leaves."""
        with self.lock:
            if self.process is not None and self.answer is not None and not self.answer.done():
                self.process.kill()
            self.pool.shutdown(wait=self.process is not None, cancel_futures=True)

    def last_words(self) -> str:
        code = None if self.process is None else _code_of(self.process)
        if code is not None and code < 0:
            return f"its process was ended by signal {-code}; with 9 that is often a lack of memory."
        return f"its process ended with code {code}; see logs/{LOG}."


def _code_of(process: BaseProcess) -> int | None:
    """How a process ended; the pool waits for it too, and only who waits first learns it at once."""
    until = time.monotonic() + 10
    while process.exitcode is None and time.monotonic() < until:
        process.join(0.01)
        time.sleep(0.001)
    return process.exitcode


class Processes:
    """A `Run` that hands tasks to processes; as many are started as ever run at a time."""

    def __init__(self, out: Path, threads: int) -> None:
        self._out, self._threads = out, threads
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._all: list[_Worker] = []
        self._stopped = threading.Event()
        with storage_errors(out):
            (out / "logs").mkdir(parents=True, exist_ok=True)

    def __call__(self, task: Task) -> str:
        if self._stopped.is_set():
            return STOPPED
        worker = self._worker()
        try:
            answer = worker.ask(self._out, task)
        except BrokenProcessPool:
            return worker.last_words()
        except (CancelledError, RuntimeError):
            if not self._stopped.is_set():
                raise
            return STOPPED
        self._idle.put(worker)
        return answer

    def stop(self) -> None:
        """At the end, and also in the middle of a task: what is unfinished goes on in the next run."""
        self._stopped.set()
        for worker in self._all:
            worker.end()

    def _worker(self) -> _Worker:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            how = (str(self._out / "logs" / LOG), self._threads)
            context = multiprocessing.get_context("spawn")
            worker = _Worker(ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=how))
            self._all.append(worker)
            return worker


def _begin(log: str, threads: int) -> None:
    """A new process: it speaks into the log, leaves Ctrl-C to whoever started it, and ends with him."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.environ |= {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(0)


def _do(out: str, kind: Kind, name: str) -> str:
    from sidrec.pipeline.benchmark.tasks import do_named

    return do_named(out, kind, name)
