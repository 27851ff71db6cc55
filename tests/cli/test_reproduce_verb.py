from __future__ import annotations

import json
import sys

import pytest

from sidrec.cli.app import main
from sidrec.reports.expected import Expected


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sidrec", "reproduce", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


def test_missing_data_is_one_sentence_with_the_option(run):
    code, _, said = run("scientific", "--out", "x")
    assert code == 2
    assert said == (
        "sidrec: scientific is measured on amazon2018-scientific, which does not come with the package; say in which "
        "folder it lies (--data).\n"
    )
    assert run("books", "--out", "x")[2].endswith("choose one of demo, scientific, beauty (NAME).\n")


@pytest.mark.slow
def test_the_demo_gives_its_committed_figures(run, tmp_path):
    code, out, noted = run("demo", "--out", "runs", "--write", "found.toml")
    assert code == 0, out + noted
    assert "figures agree within the spread of seeds." in out and "DIFFERS" not in out
    assert (tmp_path / "runs" / "report" / "index.html").is_file()
    assert (tmp_path / "runs" / "report" / "main-table-demo-counts.csv").is_file()
    assert Expected.read(tmp_path / "found.toml").figures[0].seeds == 2
    found = json.loads(run("demo", "--out", "runs", "--json")[1])
    assert found["agrees"] and len(found["checks"]) >= 9
