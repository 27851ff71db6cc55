"""How long a training took: by the wall clock, and by what its processor did."""

from __future__ import annotations

import time


class Clock:
    """Goes on from what earlier parts of the same training used; what a kill threw away is not counted."""

    def __init__(self) -> None:
        self.go_on(0.0, 0.0)

    def go_on(self, seconds: float, cpu_seconds: float) -> None:
        self._seconds, self._cpu_seconds = seconds - time.monotonic(), cpu_seconds - time.process_time()

    @property
    def seconds(self) -> float:
        return self._seconds + time.monotonic()

    @property
    def cpu_seconds(self) -> float:
        """Over all threads of this process, so that a busy machine does not make a training look dear."""
        return self._cpu_seconds + time.process_time()
