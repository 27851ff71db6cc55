from __future__ import annotations

import json
import sys

import pytest

from sidrec.cli.app import main
from sidrec.models.registry import MODELS


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sidrec", "models", *words])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return run


def test_every_model_is_listed(run):
    _, out, _ = run()
    assert all(f"{row.key} " in out and row.summary in out for row in MODELS)
    assert [row["key"] for row in json.loads(run("--json")[1])["models"]] == [row.key for row in MODELS]


def test_one_model_shows_its_settings_with_the_defaults_of_its_row(run):
    _, out, _ = run("sasrec-ce")
    row = next(line for line in out.split("\n") if " loss " in line)
    assert "cross-entropy" in row and "over the full catalogue" in out
    assert any("training.epochs" in line and "30" in line for line in out.split("\n"))
    assert json.loads(run("sasrec", "--json")[1])["settings"]["loss"] == "bce"
    assert json.loads(run("sasrec-ce", "--json")[1])["settings"]["loss"] == "cross-entropy"


def test_a_misspelt_key_is_one_sentence(run):
    assert run("sasrec-cee") == (2, "", "sidrec: 'sasrec-cee' is not a model; did you mean sasrec-ce?\n")
