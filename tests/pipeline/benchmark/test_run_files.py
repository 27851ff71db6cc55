"""A run carries its own plan and settings: what happens to recipes and registry later does not reach it."""

from __future__ import annotations

import json

import pytest

from sidrec.core.errors import ArtifactError
from sidrec.models import registry
from sidrec.pipeline.benchmark import cells as cells_module
from sidrec.pipeline.benchmark import plan as plan_module
from sidrec.pipeline.benchmark.cells import Places, cells_of
from sidrec.pipeline.benchmark.plan import Plan
from sidrec.pipeline.benchmark.run_files import read_cells_of, read_plan_of, write_run

VALUES = {
    "title": "t",
    "scale": "tiny",
    "datasets": {"demo": {"source": "demo"}},
    "section": [{"name": "main", "title": "m", "models": "all"}],
}


def make(**changes: object) -> Plan:
    return Plan.parse({**VALUES, **changes}, owner="a plan")


def test_cells_come_back_as_they_were_whatever_recipes_say_today(tmp_path, monkeypatch) -> None:
    places, plan = Places(tmp_path), make()
    cells = cells_of(plan)
    write_run(places, plan, cells)
    monkeypatch.setattr(cells_module, "read_recipe", lambda *_: pytest.fail("a recipe of today was read"))
    assert read_cells_of(places) == cells
    assert [cell.stage for cell in read_cells_of(places)] == [cell.stage for cell in cells]


def test_all_models_are_those_of_the_day_it_ran(tmp_path, monkeypatch) -> None:
    plan = make()
    write_run(Places(tmp_path), plan, cells_of(plan))
    then = [row.key for row in registry.MODELS]
    monkeypatch.setattr(plan_module, "MODELS", registry.MODELS[:1])
    assert [row.label for row in read_plan_of(Places(tmp_path)).section[0].rows()] == then


def test_what_is_no_run_says_so(tmp_path) -> None:
    with pytest.raises(ArtifactError, match="holds no benchmark; make one with `sidrec benchmark"):
        read_plan_of(Places(tmp_path))
    for text in ("{", "[]", json.dumps([{"label": 3}])):
        (tmp_path / "cells.json").write_text(text, encoding="utf-8")
        (tmp_path / "plan.json").write_text("[]", encoding="utf-8")
        with pytest.raises(ArtifactError, match="is damaged"):
            read_cells_of(Places(tmp_path)) if text != "[]" else read_plan_of(Places(tmp_path))
