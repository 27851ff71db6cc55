from __future__ import annotations

import json
import sys

import pytest

from sidrec.cli.app import main
from sidrec.pipeline import demo
from sidrec.pipeline.demo import DemoSize
from sidrec.pipeline.recipes import Recipe


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """The command on a small shop with the quickest model."""

    def call(*words: str) -> str:
        monkeypatch.setattr(demo, "DemoSize", lambda: DemoSize(n_items=150, n_users=60))
        monkeypatch.setattr(demo, "RECIPES", (Recipe("popularity", {}, "demo"),))
        monkeypatch.setattr(sys, "argv", ["sidrec", "demo", "--out", str(tmp_path), *words])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        return capsys.readouterr().out

    return call


def test_the_tour_is_readable(run, tmp_path):
    out = run()
    assert out.startswith("A synthetic shop: 60 shoppers, 150 products, ")
    assert "popularity recommends" in out
    assert out.count("and then in truth: ") == 3
    assert f"wrote {tmp_path}" in out
    assert "next: sidrec evaluate" in out


def test_one_json_object(run):
    found = json.loads(run("--json"))
    assert found["data"]["users"] == 60
    assert "recall@10" in found["models"]["popularity"]
    assert len(found["examples"]) == 3
