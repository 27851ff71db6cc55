"""Ctrl-C and SIGTERM in the middle of every verb: it says what is kept, and the next run goes on."""

from __future__ import annotations

import signal
import time
from random import Random

from disturb import syscalls
from disturb.findings import Finding
from disturb.ground import Ground, Home, Undisturbed, check_rerun, check_whole
from disturb.process import Ended, start
from disturb.shop import Verb

KIND = "stops"


def stop(ground: Ground, verb: Verb, normal: Undisturbed, draw: Random, name: str) -> Finding:
    finding, older = Finding(KIND, verb.name), draw.random() < 0.5
    number = draw.choice([signal.SIGINT, signal.SIGTERM])
    with ground.home(verb, name, older=older) as home:
        ended = _stopped(home, normal, older, draw, number)
        if ended.code == -number and not ended.words:  # before the program had begun
            return finding
        finding.tries = int(ended.code != 0)
        words = [line for line in ended.words.splitlines() if line.startswith("sidrec: stopped")]
        if ended.traceback or (ended.code and (ended.code != 128 + number or len(words) != 1)):
            finding.fault("tracebacks", f"signal {int(number)} ended with {ended.code}: {ended.words[-1500:]}")
        check_whole(home, finding, [normal.prints[older], normal.other if older else {}])
        check_rerun(home, finding, [normal.prints[older]])
    return finding


def _stopped(home: Home, normal: Undisturbed, older: bool, draw: Random, number: int) -> Ended:
    if syscalls.available() and draw.random() < 0.5:
        return home.run_killed(home.verb.body, draw.randint(1, normal.writes[older]), number)
    running = start(home.verb.body, home.path, home.said)
    time.sleep(draw.uniform(0.05, normal.seconds))
    running.send(number)
    return running.wait()
