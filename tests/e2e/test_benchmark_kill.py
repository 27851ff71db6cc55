"""A benchmark that is killed goes on where it stopped, and ends with the figures of one that was not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reference.small_plan import SETTINGS, TOKENIZER, small_shop

RUN = [sys.executable, "-c", "from sidrec.cli.app import main; main()", "benchmark"]


def plan_file(folder: Path) -> Path:
    """The small plan as a file; rows are models with more and more epochs."""
    small_shop(folder)
    words = json.dumps
    lines = ['title = "t"', 'scale = "tiny"', "[budget]", "epochs = 2", "[datasets]", 'shop = "shop"', "[settings]"]
    lines += [f"{name} = {words(value)}" for name, value in SETTINGS.items() if not isinstance(value, dict)]
    for name, value in SETTINGS.items():
        if isinstance(value, dict):
            lines += [f"[settings.{name}]", *(f"{inner} = {words(x)}" for inner, x in value.items())]
    lines += ["[settings.tokenize]", f"tokenizer = {words(TOKENIZER['tokenizer'])}", "[settings.tokenize.options]"]
    lines += [f"{name} = {words(x)}" for name, x in TOKENIZER["options"].items()]
    lines += ["[[section]]", 'name = "main-table"', 'title = "M"', 'models = ["popularity", "sasrec-ce", "llada-rec"]']
    file = folder / "plan.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_killed_benchmark_goes_on(tmp_path, processes):
    plan = plan_file(tmp_path)
    words = [*RUN, str(plan), "--processes", processes]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    killed = subprocess.Popen(
        [*words, "--out", str(tmp_path / "killed")], stderr=subprocess.PIPE, text=True, env=environment
    )
    for line in killed.stderr:
        if line.startswith("[1/3]"):
            killed.send_signal(signal.SIGKILL)
            break
    killed.communicate()
    again, whole = (
        json.loads(
            subprocess.run(
                [*words, "--out", str(tmp_path / name), "--json"], capture_output=True, env=environment
            ).stdout
        )
        for name in ("killed", "whole")
    )
    assert again["failed"] == whole["failed"] == 0
    assert again["skipped"] >= 1 and whole["done"] == 3
    assert [one["figures"] for one in again["records"]] == [one["figures"] for one in whole["records"]]
