"""Trials side by side, in forked processes that hand back what they found."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

Job = Callable[[], object]
"""A dataclass comes back."""


def in_parallel(jobs: Sequence[Job], place: Path, n_workers: int, deadline: float) -> list[dict[str, Any]]:
    """What the jobs return, as plain values, in no particular order; where the time is up, the rest is left undone."""
    files = [place / f"found-{number}" for number in range(n_workers)]
    pids = []
    for number, file in enumerate(files):
        pid = os.fork()
        if pid == 0:
            _worker(jobs[number::n_workers], file, deadline)
        pids.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    if any(codes):
        raise SystemExit("the campaign itself failed, see above")
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def _worker(jobs: Sequence[Job], file: Path, deadline: float) -> None:
    code = 1
    try:
        with file.open("w", encoding="utf-8") as found:
            for job in jobs:
                if time.monotonic() > deadline:
                    break
                found.write(json.dumps(asdict(job())) + "\n")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)
