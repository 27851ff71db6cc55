"""Commands in forked children of one warmed process: a trial costs what its work costs, not the imports."""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from disturb import syscalls

_TOO_LONG = 600
"""Seconds after which a child hangs, for all we know, and is ended by SIGALRM."""
Body = Callable[[], object]
_WARM = (
    "sidrec.cli.app",
    "sidrec.verbs",
    "sidrec.reports.build",
    "sidrec.pipeline.benchmark.runner",
    "sidrec.pipeline.recommend_many",
    "sidrec.pipeline.train",
    "sidrec.embeddings.tfidf",
    "sidrec.sids.rq_kmeans",
    "sidrec.models.llada_rec.recommender",
    "sidrec.models.llada_rec.export",
    "sidrec.models.sasrec",
    "sidrec.models.llada_rec_plus.recommender",
    "sidrec.sids.multi_head_vqvae",
    "sidrec.data.download",
    "onnxruntime",
    "sidrec.models.popularity",
    "sidrec.data.prepare",
    "sidrec.data.synthetic",
    "rich.table",
    "matplotlib.figure",
    "matplotlib.backends.backend_svg",
    "sklearn.decomposition",
    "sklearn.feature_extraction.text",
    "accelerate",
    "torch._dynamo",
    "torch.onnx",
    "onnx",
    "onnxscript",
)


def warm() -> None:
    """Import what the verbs import, but use nothing: thread pools do not survive a fork."""
    for name in _WARM:
        __import__(name)
    import torch

    torch.set_num_threads(1)


@dataclass(frozen=True)
class Ended:
    """How a child ended and what it said."""

    code: int
    """The exit code, or minus the signal's number."""
    words: str
    writes: int = 0
    """Writing system calls, where they were counted."""
    seconds: float = 0.0

    @property
    def traceback(self) -> bool:
        """Also where a library died in its own way: by a signal that nobody sent, or with a code that is not ours."""
        ours = (0, 2, 128 + signal.SIGINT, 128 + signal.SIGTERM, -signal.SIGKILL)
        return "Traceback (most recent call last)" in self.words or self.code not in ours


@dataclass(frozen=True)
class Started:
    """A running child."""

    pid: int
    said: Path
    began: float

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self) -> Ended:
        _, status = os.waitpid(self.pid, 0)
        return Ended(os.waitstatus_to_exitcode(status), _words(self.said), seconds=time.perf_counter() - self.began)

    def running(self) -> bool:
        """Without reaping it."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def start(body: Body, home: Path, said: Path) -> Started:
    """Run `body` in a child in the folder `home`; what it says goes into the file `said`."""
    began, pid = time.perf_counter(), os.fork()
    if pid == 0:
        os._exit(_run(body, home, said))
    return Started(pid, said, began)


def run(body: Body, home: Path, said: Path) -> Ended:
    return start(body, home, said).wait()


def run_killed(body: Body, home: Path, said: Path, at: int | None, number: int = signal.SIGKILL) -> Ended:
    """Run and send a signal at the n-th writing system call; with None, only count them."""
    began = time.perf_counter()
    status, seen = syscalls.run_traced(lambda: _run(body, home, said), at, number)
    return Ended(os.waitstatus_to_exitcode(status), _words(said), seen, time.perf_counter() - began)


@dataclass(frozen=True)
class Command:
    """A line of the command line, without the program's name."""

    line: str

    def __call__(self) -> None:
        from sidrec.cli.app import main

        sys.argv = ["sidrec", *shlex.split(self.line)]
        main()


def command(line: str) -> Body:
    return Command(line)


def library(call: Body) -> Body:
    """Calls of the library, whose refusals end as those of the command line do."""

    def body() -> None:
        from sidrec.core.errors import SidrecError

        try:
            call()
        except SidrecError as error:
            sys.stderr.write(f"{error}\n")
            sys.exit(2)

    return body


def _run(body: Body, home: Path, said: Path) -> int:
    code = 0
    try:
        _take_place(home, said)
        body()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    return code


def _take_place(home: Path, said: Path) -> None:
    """Streams into a file, temporary files where they are looked for, and a clock that stands: measured times are part
    of what is written, and only without them are two runs alike byte by byte."""
    stream = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    os.close(stream)
    sys.stdout, sys.stderr = (os.fdopen(os.dup(n), "w", buffering=1, encoding="utf-8") for n in (1, 2))
    os.chdir(home)
    os.environ["TMPDIR"] = str(home / "tmp")
    time.perf_counter = time.monotonic = time.process_time = lambda: 0.0
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.alarm(_TOO_LONG)


def _words(said: Path) -> str:
    return said.read_text(encoding="utf-8", errors="replace") if said.exists() else ""
