from __future__ import annotations

import json
import shlex
import sys

import pytest

from sidrec.cli.app import main
from sidrec.data.synthetic import cycle

SMALL = ["--set", "training.epochs=1", "--set", "n_layers=1", "--vary", "d_model=[4,8]", "--vary", "dropout=[0.1,0.2]"]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a command line in a folder with data; gives exit code, output and errors."""
    cycle(n_items=20, n_users=24, length=8).save(tmp_path / "data")
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sidrec", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


@pytest.mark.slow
def test_a_search_says_its_trials_its_best_and_a_next_command_that_runs(run, tmp_path):
    asked = ["tune", "--model", "sasrec-ce", "--data", "data", "--out", "tuned", *SMALL]
    code, said, noted = run(*asked, "--trials", "2")
    assert code == 0 and [line[:13] for line in noted.splitlines() if line.startswith("[")] == [
        "[1/2] trial 0",
        "[2/2] trial 1",
    ]
    assert "sasrec-ce: 2 trials, 2 done, 0 pruned, 0 failed" in said and "best: trial" in said
    assert (tmp_path / "tuned" / "index.html").is_file()
    following = next(line for line in said.splitlines() if line.startswith("next: "))
    assert following == "next: sidrec train --recipe tuned/best.toml --data data --out tuned-model"
    assert run(*shlex.split(following)[2:])[0] == 0
    code, said, _ = run(*asked, "--trials", "3", "--json")
    found = json.loads(said)
    assert code == 0 and len(found["trials"]) == 3 and found["best"]["value"] > 0 and found["running"] == 0


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--model", "popularity"], "popularity has nothing to tune; choose a model that is trained (--model)."),
        (["--model", "sasrec-ce", "--on", "moon"], "moon: is no place to work on"),
        (["--model", "sasrec-ce", "--processes", "2"], "side by side on ray"),
        (["--model", "sasrec-ce", "--vary", "d_model=3"], "say what is tried as d_model=[32,64,128]"),
    ],
)
def test_what_cannot_be_is_one_sentence(run, tmp_path, words, answer):
    code, _, noted = run("tune", "--data", "data", "--out", "tuned", *words)
    assert code == 2 and answer in noted
    assert not (tmp_path / "tuned").exists()
