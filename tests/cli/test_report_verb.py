from __future__ import annotations

import json
import sys

import pytest

from sidrec.cli.app import main
from sidrec.data.synthetic import cycle
from sidrec.pipeline.benchmark.plan import Plan
from sidrec.pipeline.benchmark.runner import benchmark


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    cycle(n_items=10, n_users=12).save(tmp_path / "shop")
    section = {"name": "main-table", "title": "Models", "models": ["popularity"]}
    data = {"shop": {"source": str(tmp_path / "shop")}}
    values = {"title": "Floors", "scale": "tiny", "datasets": data, "section": [section]}
    benchmark(Plan.parse(values, owner="a plan"), tmp_path / "runs")
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sidrec", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


def test_a_report_is_written_and_named(run, tmp_path):
    code, said, _ = run("report", "runs", "--out", "page")
    assert code == 0
    assert "popularity" in said and "open page/index.html in a browser" in said
    assert {file.name for file in (tmp_path / "page").iterdir()} >= {"index.html", "report.md", "data.csv"}


def test_programs_get_one_object(run):
    _, said, _ = run("report", "runs", "--out", "page", "--json")
    assert json.loads(said) == {"out": "page", "best_first": {"main-table-shop": ["popularity"]}, "problems": []}


def test_a_directory_without_a_benchmark_is_one_sentence(run):
    code, _, errors = run("report", "shop", "--out", "page")
    assert code == 2
    assert "holds no benchmark; make one with `sidrec benchmark" in errors
