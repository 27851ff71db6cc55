"""Jobs for processes that tests start; here, because a new process finds this module by its name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def odd_job(out: str, kind: str, name: str) -> str:
    """What a task's name says."""
    if name.endswith("dies"):
        os.kill(os.getpid(), signal.SIGKILL)
    if name.endswith("threads"):
        return os.environ["OMP_NUM_THREADS"]
    if name.endswith("speaks"):
        os.write(1, b"a library prints\n")
    if name.endswith("sleeps"):
        (Path(out) / "asleep").touch()
        time.sleep(600)
    return str(os.getpid())
