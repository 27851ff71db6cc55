from __future__ import annotations

import json
import sys

import pytest

from sidrec.cli.app import main
from sidrec.data.synthetic import cycle

PLAN = """
title = "Floors"
scale = "tiny"
[datasets]
shop = "shop"
[[section]]
name = "main-table"
title = "Models"
models = ["popularity"]
"""


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a command line inside a folder with a plan; gives exit code, output and errors."""
    cycle(n_items=10, n_users=12).save(tmp_path / "shop")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sidrec", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


def test_a_plan_is_run_once_and_said_in_lines(run):
    code, said, noted = run("benchmark", "plan.toml", "--out", "runs")
    assert code == 0
    assert "1 cells, 1 done, 0 already there, 0 failed; at most 8 epochs" in said
    assert "next: sidrec report runs --out runs-report" in said
    assert "[1/1] main-table | shop | popularity | seed 0: recall@10" in noted
    assert "0 done, 1 already there" in run("benchmark", "plan.toml", "--out", "runs")[1]


def test_options_replace_the_plans_values(run):
    code, said, _ = run("benchmark", "plan.toml", "--out", "r", "--seeds", "3,4", "--epochs", "2", "--json")
    found = json.loads(said)
    assert code == 0
    assert [record["seed"] for record in found["records"]] == [3, 4]
    assert found["budget"] == "at most 2 epochs of training for every model"


def test_a_budget_that_a_section_would_not_heed_is_refused(run, tmp_path):
    by_recipe = '[[section]]\nname = "recipes"\ntitle = "R"\nmodels = ["popularity"]\ntraining = "recipe"\n'
    (tmp_path / "plan.toml").write_text(f"{PLAN}{by_recipe}[budget]\nepochs = 2\n", encoding="utf-8")
    code, _, noted = run("benchmark", "plan.toml", "--out", "runs", "--epochs", "3")
    assert code == 2 and "section recipes trains every model exactly as its recipe says" in noted
    assert not (tmp_path / "runs").exists()
    code, said, _ = run("benchmark", "plan.toml", "--out", "runs")  # the plan's own budget is for its other section
    assert code == 0 and "at most 2 epochs of training for every model; each model in the size" in said


@pytest.mark.slow
def test_a_cell_tells_of_the_plan_asked_for_whatever_ran_there_before(run, tmp_path):
    plan = PLAN.replace('["popularity"]', '["gru4rec"]').replace('scale = "tiny"', 'scale = "tiny"\nseeds = [0]')
    (tmp_path / "plan.toml").write_text(plan, encoding="utf-8")
    first, other, again = (
        json.loads(run("benchmark", "plan.toml", "--out", "runs", "--epochs", epochs, "--json")[1])["records"][0]
        for epochs in ("1", "2", "1")
    )
    assert first["training"]["epochs"] == again["training"]["epochs"] == 1
    assert (again["model"], again["figures"]) == (first["model"], first["figures"]) and other["model"] != first["model"]


def test_a_failed_cell_ends_with_code_1_and_its_words(run, tmp_path):
    (tmp_path / "empty").mkdir()
    code, said, _ = run("benchmark", "plan.toml", "--out", "runs", "--data", "shop=empty")
    assert code == 1
    assert "1 failed" in said and "failed: main-table/shop/popularity-seed0: " in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seeds", "a"], "--seeds a: write numbers"),
        (["--data", "shop"], "shop: write a data set as NAME=PATH, for example scientific=runs/data (--data)."),
        (["--data", "other=x"], "other: the plan has no such data set (it has: shop), and x is not there (--data)."),
        (["--scale", "huge"], "scale"),
    ],
)
def test_wrong_options_are_one_sentence_before_anything_runs(run, tmp_path, words, message):
    code, _, errors = run("benchmark", "plan.toml", "--out", "runs", *words)
    assert code == 2
    assert message in errors and "Traceback" not in errors
    assert not (tmp_path / "runs").exists()


def test_an_unknown_model_is_named_before_anything_runs(run, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.replace('"popularity"', '"popularitty"'), encoding="utf-8")
    code, _, errors = run("benchmark", "plan.toml", "--out", "runs")
    assert code == 2 and "did you mean popularity?" in errors
    assert not (tmp_path / "runs").exists()


def test_only_ray_is_another_place_and_only_it_has_an_address(run):
    code, _, noted = run("benchmark", "plan.toml", "--out", "runs", "--on", "moon")
    assert code == 2 and "moon: is no place to work on" in noted and "(--on)" in noted
    code, _, noted = run("benchmark", "plan.toml", "--out", "runs", "--address", "auto")
    assert code == 2 and "an address is that of a Ray cluster" in noted
