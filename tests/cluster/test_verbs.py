"""Every verb that takes `--on ray`: what it writes is what it writes without it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from reference.small_plan import small_shop
from reference.tiny_recipe import TINY
from sidrec.cli.app import main

pytestmark = pytest.mark.slow
FAR = ["--on", "ray"]
PLAN = """
title = "Two models"
scale = "tiny"
budget = { epochs = 1 }
[settings]
d_model = 8
n_layers = 1
[datasets]
shop = "shop"
[[section]]
name = "main-table"
title = "Models"
baseline = "popularity"
models = ["popularity", "sasrec-ce"]
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("verbs")
    small_shop(home)
    (home / "tiny.toml").write_text(TINY.replace("codebook_size = 16, pca = 16", "codebook_size = 8, pca = 4"))
    (home / "plan.toml").write_text(PLAN)
    (home / "users").mkdir()
    for part in (0, 1):
        users = pl.DataFrame({"user_id": [f"u{n}" for n in range(12 * part, 12 * part + 12)]})
        users.write_parquet(home / "users" / f"{part}.parquet")
    return home


@pytest.fixture
def run(monkeypatch, capsys, home, two_processors):
    def run(*words: str) -> str:
        monkeypatch.chdir(home)
        monkeypatch.setattr(sys, "argv", ["sidrec", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        said, noted = capsys.readouterr()
        assert not stop.value.code, noted
        return said

    return run


def test_vectors_a_model_and_answers_for_many_users(run, home):
    for name, far in (("near", []), ("far", FAR)):
        run("embed", "shop", "--encoder", "tfidf", "--out", f"{name}-emb", *far)
        run("train", "--data", "shop", "--recipe", "tiny.toml", "--out", f"{name}-model", *far)
        asked = ["recommend", "near-model", "--input", "users/*.parquet", "--output", f"{name}-recs"]
        assert f"wrote {name}-recs" in run(*asked, *far)
    for near, far in (("near-emb/vectors.npy", "far-emb/vectors.npy"), ("near-recs/1.parquet", "far-recs/1.parquet")):
        assert (home / near).read_bytes() == (home / far).read_bytes()
    curves = [(home / name / "history.jsonl").read_text().splitlines() for name in ("near-model", "far-model")]
    assert [json.loads(line)["loss"] for line in curves[0]] == [json.loads(line)["loss"] for line in curves[1]]


def test_a_benchmark_and_a_search_for_settings(run, home):
    found = json.loads(run("benchmark", "plan.toml", "--out", "bench", "--json", *FAR))
    assert found["failed"] == 0 and found["done"] == found["cells"] == 2
    small = ["--set", "training.epochs=1", "--set", "n_layers=1", "--vary", "d_model=[4,8]", "--trials", "2"]
    found = json.loads(run("tune", "--model", "sasrec-ce", "--data", "shop", "--out", "tuned", *small, "--json", *FAR))
    assert [trial["state"] for trial in found["trials"]] == ["done", "done"]
