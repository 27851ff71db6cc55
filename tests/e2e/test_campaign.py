"""The short form of the campaign, and the proof that it can fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).resolve().parents[2] / "tools" / "campaign.py"
KINDS = ("kills", "races", "loads", "artefacts", "inputs", "stops", "limits", "answers", "prepares")
FAULTS = ("broken", "tracebacks", "leftovers", "not_identical")

pytestmark = pytest.mark.slow


def campaign(*words: str, **tries: int) -> tuple[int, dict[str, int], str]:
    numbers = [word for kind in KINDS for word in (f"--{kind}", str(tries.get(kind, 0)))]
    command = [sys.executable, str(CAMPAIGN), "--minutes", "5", *numbers, *words]
    ended = subprocess.run(command, capture_output=True, text=True)
    return ended.returncode, json.loads(ended.stdout.splitlines()[-1]), ended.stderr


def test_nothing_is_lost_mixed_or_left():
    """Without limits of memory: which library fails first, and in which words, differs from machine to machine."""
    verbs = ("data prepare", "embed", "train sasrec-ce", "evaluate", "recommend", "report")
    words = [word for verb in verbs for word in ("--verb", verb)]
    tries = {
        **{"kills": 12, "races": 6, "loads": 100, "artefacts": 30, "inputs": 15},
        "stops": 6,
        "answers": 400,
        "prepares": 30,
    }
    code, found, errors = campaign(*words, **tries)
    assert (code, {name: found[name] for name in FAULTS}) == (0, dict.fromkeys(FAULTS, 0)), errors
    assert found["kills"] >= 10 and found["loads"] == 100 and found["answers"] >= 400
    assert (found["races"], found["artefacts"], found["inputs"], found["prepares"]) == (6, 30, 15, 30)


def test_bad_writers_are_found_out():
    code, found, _ = campaign("--bad-writers", kills=30, races=6)
    assert code == 1 and all(found[name] > 0 for name in FAULTS), found
