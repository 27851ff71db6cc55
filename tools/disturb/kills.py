"""SIGKILL in the middle of every verb: at a system call that changes a file, or at any moment."""

from __future__ import annotations

import signal
import time
from random import Random

from disturb import syscalls
from disturb.findings import Finding
from disturb.ground import Ground, Home, Undisturbed, check_rerun, check_whole
from disturb.process import Ended, start
from disturb.shop import Verb

KIND = "kills"
_TIMED, _AGAIN = 0.2, 0.3


def kill(ground: Ground, verb: Verb, normal: Undisturbed, draw: Random, name: str) -> Finding:
    """Kill once, sometimes the run after it too; then look, run once more undisturbed, and look again."""
    finding = Finding(KIND, verb.name)
    older = draw.random() < 0.5
    with ground.home(verb, name, older=older) as home:
        allowed = [normal.prints[older], normal.other if older else {}]
        for _ in range(2 if draw.random() < _AGAIN else 1):
            ended = _killed(home, normal, older, draw)
            finding.tries += ended.code == -signal.SIGKILL
            if ended.traceback:
                finding.fault("tracebacks", ended.words[-1500:])
            check_whole(home, finding, allowed)
        check_rerun(home, finding, [normal.prints[older]])
    return finding


def _killed(home: Home, normal: Undisturbed, older: bool, draw: Random) -> Ended:
    if syscalls.available() and draw.random() >= _TIMED:
        return home.run_killed(home.verb.body, draw.randint(1, normal.writes[older]))
    running = start(home.verb.body, home.path, home.said)
    time.sleep(draw.uniform(0, normal.seconds))
    running.send(signal.SIGKILL)
    return running.wait()
