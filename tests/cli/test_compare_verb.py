from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from reference.oracle import Oracle
from sidrec.cli.app import main
from sidrec.core.artifacts import Origin, write
from sidrec.data.synthetic import demo_shop
from sidrec.evaluation.evaluate import evaluate
from sidrec.evaluation.results import KIND


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Evaluations of a model that knows the answers and of one that does not."""
    folder, data = tmp_path_factory.mktemp("cli"), demo_shop(n_items=400, n_users=50, seed=2)
    for name, place in (("wise", 0), ("blind", -1)):
        with write(folder / name, Origin(KIND)) as directory:
            evaluate(Oracle(data, np.full(50, place)), data).write_files(directory)
    return folder


def run(monkeypatch, capsys, folder, *words: str) -> tuple[int, str, str]:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["sidrec", "compare", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0), *capsys.readouterr()


def test_the_table_says_who_is_better(monkeypatch, capsys, folder):
    code, out, _ = run(monkeypatch, capsys, folder, "wise", "blind")
    assert code == 0
    assert out.count("wise is better") == 2
    assert "-1.0000 to -1.0000" in out


def test_one_json_object(monkeypatch, capsys, folder):
    _, out, _ = run(monkeypatch, capsys, folder, "blind", "wise", "--metric", "ndcg@5", "--json")
    (row,) = json.loads(out)["differences"]
    assert (row["metric"], row["difference"], row["real"], row["users"]) == ("ndcg@5", 1.0, True, 50)


def test_a_half_written_run_is_clear(monkeypatch, capsys, folder):
    (folder / "half").mkdir(exist_ok=True)
    code, out, errors = run(monkeypatch, capsys, folder, "wise", "half")
    assert (code, out) == (2, "")
    assert "half: has no manifest.json, so it was never finished or is not ours; make one with" in errors


def test_it_can_be_read_at_80_columns(monkeypatch, capsys, folder):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", ["sidrec", "compare", "wise", "blind"])
    with pytest.raises(SystemExit):
        main()
    out = capsys.readouterr().out
    assert "1: wise, 2: blind; 50 users, paired" in out
    row = next(line for line in out.split("\n") if "recall@10" in line)
    assert max(len(line) for line in out.split("\n")[:-2]) <= 80
    assert "1.0000" in row and "-1.0000" in row and "0.0000" in row, "figures are not cut in two"
