from __future__ import annotations

import json
import sys

import pytest

from reference.tiny_recipe import TINY
from sidrec.cli.app import main
from sidrec.pipeline import demo
from sidrec.pipeline.demo import DemoSize


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """The command on a small shop with the quickest model."""

    def call(*words: str) -> str:
        monkeypatch.setattr(demo, "DemoSize", lambda: DemoSize(n_items=150, n_users=60))
        (tmp_path / "tiny.toml").write_text(TINY)
        monkeypatch.setattr(demo, "RIVALS", ("demo/popularity",))
        monkeypatch.setattr(demo, "FLAGSHIP", str(tmp_path / "tiny.toml"))
        monkeypatch.setattr(sys, "argv", ["sidrec", "demo", "--out", str(tmp_path), *words])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        return capsys.readouterr().out

    return call


@pytest.mark.slow
def test_the_tour_is_readable(run, tmp_path):
    out = run()
    assert out.startswith("A synthetic shop: 60 shoppers, 150 products, ")
    assert "llada-rec recommends" in out
    assert "150 different ones for 150 products" in out
    assert "Step 1 of 3" in out
    assert out.count("and then in truth: ") == 3
    assert f"wrote {tmp_path}" in out
    assert "next: sidrec recommend" in out
    assert f"look: sidrec serve {tmp_path / 'llada-rec'}\n" in out


@pytest.mark.slow
def test_one_json_object(run):
    found = json.loads(run("--json"))
    assert found["data"]["users"] == 60
    assert "recall@10" in found["models"]["popularity"]
    assert len(found["examples"]) == 3
