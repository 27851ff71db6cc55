"""Two or three writers of one output at once: the same command, or two that want different things."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from random import Random

from disturb.findings import Finding
from disturb.ground import Ground, Home, Undisturbed, check_rerun, check_whole
from disturb.process import Command, Ended, start
from disturb.shop import Verb

KIND = "races"
_TAKEN = "is being written by"


def race(ground: Ground, verb: Verb, normal: Undisturbed, draw: Random, name: str) -> Finding:
    """Let them run; then one whole version stands there, nothing else is left, and who did not write said why."""
    finding = Finding(KIND, verb.name, tries=1)
    older = draw.random() < 0.5
    with ground.home(verb, name, older=older) as home:
        killed = draw.random() < 0.2
        all_ended = _run_at_once(home, normal, draw, kill_one=killed)
        for patient, ended in all_ended:
            if ended.code == 2 and (patient or _TAKEN not in ended.words):
                finding.fault("broken", f"a writer gave up: {ended.words[-800:]}")
            elif ended.traceback:
                finding.fault("tracebacks", ended.words[-1500:])
        done = any(ended.code == 0 for _, ended in all_ended)
        if not done and not killed:
            finding.fault("broken", "nobody wrote")
        check_whole(home, finding, [*normal.prints, normal.other, *([] if done or older else [{}])])
        if not killed and home.leftovers():
            finding.fault("leftovers", f"after the race: {' '.join(home.leftovers())[:500]}")
        check_rerun(home, finding, normal.prints if verb.per_file else [normal.prints[older]])
    return finding


def _run_at_once(home: Home, normal: Undisturbed, draw: Random, *, kill_one: bool) -> list[tuple[bool, Ended]]:
    """Who waited for his turn, and how he ended."""
    verb = home.verb
    bodies = [verb.body, verb.other if draw.random() < 0.5 else verb.body]
    bodies += [verb.body] if draw.random() < 0.2 else []
    running, patient = [], []
    for number, body in enumerate(bodies):
        patient.append(isinstance(body, Command) and draw.random() < 0.3)
        if patient[-1]:
            body = replace(body, line=f"{body.line} --wait")
        running.append(start(body, home.path, home.said.with_suffix(f".said-{number}")))
        time.sleep(draw.choice([0.0, draw.uniform(0, normal.seconds)]))
    if kill_one:
        time.sleep(draw.uniform(0, normal.seconds / 2))
        draw.choice(running).send(signal.SIGKILL)
    ended = [one.wait() for one in running]
    for one in running:
        one.said.unlink(missing_ok=True)
    return list(zip(patient, ended, strict=True))
