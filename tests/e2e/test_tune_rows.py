from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sidrec.data.synthetic import cycle

TOOL = Path(__file__).resolve().parents[2] / "tools" / "tune_rows.py"
PLAN = """
seed = 3
trials = 2
metric = "ndcg@10"
[rows.one]
model = "sasrec-ce"
set = { training = { epochs = 1 } }
[rows.two]
model = "sasrec-ce"
set = { repeat = "once", training = { epochs = 1 } }
space = { repeat = ["by-age"] }
[space]
d_model = [8, 16]
n_heads = [2]
"training.epochs" = [1, 2]
"""


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tune_rows", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tune_rows"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_rows_are_searched_alike_and_the_first_trial_is_the_recipe():
    tool = load()
    search = tool.Search.read(tool.PLAN)
    plain, vectors, plus = search.rows
    assert search.settings(plain, 0) == {} and search.settings(vectors, 0) == vectors.set
    for trial in range(1, search.trials):
        common = search.settings(plain, trial)
        for row in (vectors, plus):
            drawn = search.settings(row, trial)
            assert drawn["training"] == common["training"] and drawn["d_model"] == common["d_model"]
    assert search.settings(vectors, 1)["item_vectors"]["text"] is True
    assert len({json.dumps(search.settings(plain, trial)) for trial in range(12)}) > 8


def test_every_trial_of_the_committed_space_is_a_valid_model():
    tool = load()
    search = tool.Search.read(tool.PLAN)
    for folder in ("amazon2018-scientific", "amazon2014-beauty"):
        for row in search.rows:
            for trial in range(search.trials):
                tool.recipe_of(row, folder, search.settings(row, trial)).build()


def test_what_is_done_is_not_done_again_and_a_cut_line_is_no_trial(tmp_path):
    tool = load()
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    search, trials = tool.Search.read(tmp_path / "plan.toml"), tool.Trials(tmp_path / "trials.jsonl")
    order = [(row.name, trial) for row, trial in trials.missing(search)]
    assert order == [("one", 0), ("two", 0), ("one", 1), ("two", 1)]
    trials.add({"row": "two", "trial": 0, "ndcg@10": 0.2})
    with trials.file.open("a", encoding="utf-8") as file:
        file.write('{"row": "one", "tri')
    assert [(row.name, trial) for row, trial in trials.missing(search)] == [("one", 0), ("one", 1), ("two", 1)]
    trials.add({"row": "two", "trial": 1, "ndcg@10": 0.1})
    assert trials.best("ndcg@10")["two"]["trial"] == 0


@pytest.mark.slow
def test_the_whole_search_on_a_small_shop(tmp_path):
    cycle(n_items=20, n_users=60, length=6).save(tmp_path / "data")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    words = [
        "--data",
        tmp_path / "data",
        "--recipes",
        "none",
        "--out",
        tmp_path / "out",
        "--plan",
        tmp_path / "plan.toml",
    ]
    ends = [
        subprocess.run([sys.executable, TOOL, *words, "--trials", trials], capture_output=True, text=True)
        for trials in ("1", "2")
    ]
    assert [end.returncode for end in ends] == [0, 0], ends[0].stderr
    assert [len(end.stdout.splitlines()) for end in ends] == [3, 3], "finished trials are not run again"
    best = json.loads(ends[-1].stdout.splitlines()[-1])["best"]
    assert set(best) == {"one", "two"} and 0 <= best["one"]["ndcg@10_unseen"] <= 1
