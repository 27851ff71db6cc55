"""A search that is killed twice ends with all its trials, each once; two searches share the work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from sidrec.data.synthetic import cycle

ASKED = ["--model", "sasrec-ce", "--data", "data", "--out", "out", "--trials", "5"]
SETTINGS = [
    "--set",
    "training.epochs=2",
    "--set",
    "d_model=8",
    "--set",
    "n_layers=1",
    "--vary",
    "dropout=[0.1,0.2,0.4]",
]
TUNE = [sys.executable, "-c", "from sidrec.cli.app import main; main()", "tune", *ASKED, *SETTINGS]


@pytest.fixture
def start(tmp_path):
    cycle(n_items=20, n_users=24, length=8).save(tmp_path / "data")

    def begin(*more: str) -> subprocess.Popen[str]:
        pipe, environment = subprocess.PIPE, {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen([*TUNE, *more], cwd=tmp_path, stdout=pipe, stderr=pipe, text=True, env=environment)

    return begin


@pytest.mark.slow
def test_killed_twice_and_shared_by_two_it_ends_with_every_trial_once(start):
    lines = []
    for _ in range(2):
        killed = start()
        for line in killed.stderr:
            if line.startswith("["):  # of its last words none is lost
                lines.append(line)
                killed.send_signal(signal.SIGKILL)
        killed.communicate()
    both = [start("--json"), start("--json")]
    found = []
    for tuner in both:
        said, noted = tuner.communicate()
        assert tuner.returncode == 0, noted
        lines += [line for line in noted.splitlines() if line.startswith("[")]
        found.append(json.loads(said))
    last = max(found, key=lambda one: one["done"])
    assert [trial["state"] for trial in last["trials"]] == ["done"] * 5
    numbers = [line.split("trial ")[1].split(":")[0] for line in lines]
    assert len(numbers) >= 4 and len(set(numbers)) == len(numbers)  # a last line may have died with its writer
