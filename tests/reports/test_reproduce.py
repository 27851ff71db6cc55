from __future__ import annotations

from pathlib import Path

import pytest

from sidrec.core.errors import InputError, SettingsError
from sidrec.pipeline.benchmark.cells import cells_of
from sidrec.reports import reproduce as module
from sidrec.reports.expected import Expected
from sidrec.reports.reproduce import EXPERIMENTS, plan_file, plan_of, reproduce

PLAN = """
title = "Floors"
scale = "tiny"
[datasets]
demo = "demo"
[[section]]
name = "main-table"
title = "Models"
models = ["popularity"]
"""
EXPECTED = """
[[figures]]
section = "main-table"
dataset = "demo"
scale = "tiny"
seeds = 3
[figures.rows]
popularity = { "recall@10" = [%s, 0.0] }
"""


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """A folder of plans with one for the demo; gives a function that commits an expected figure."""
    monkeypatch.setattr(module, "find_recipe", lambda name: tmp_path / f"{name.partition('/')[2]}.toml")
    (tmp_path / "plus-demo.toml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "expected").mkdir()

    def commit(value: float) -> None:
        (tmp_path / "expected" / "plus-demo.toml").write_text(EXPECTED % value, encoding="utf-8")

    return commit


@pytest.mark.slow
def test_plan_report_and_comparison_in_one_go(committed, tmp_path):
    found = reproduce("demo", tmp_path / "out")
    assert found.checks == [] and found.agrees
    value = found.report.sections[0].rows[0].figures["recall@10"].value
    committed(value)
    again = reproduce("demo", tmp_path / "out")
    assert again.agrees and [one.found for one in again.checks] == [value]
    assert again.report.page.is_file()
    committed(value + 0.1)
    assert not reproduce("demo", tmp_path / "out").agrees
    (tmp_path / "written.toml").write_text(again.as_expected(), encoding="utf-8")
    assert Expected.read(tmp_path / "written.toml").figures[0].rows["popularity"]["recall@10"][0] == round(value, 5)


def test_where_nothing_could_be_measured_the_reason_is_said(committed, tmp_path):
    text = PLAN.replace('demo = "demo"', 'mine = "raw"')
    (tmp_path / "plus-demo.toml").write_text(text, encoding="utf-8")
    (tmp_path / "raw").mkdir()
    with pytest.raises(InputError, match="nothing could be measured: "):
        reproduce("demo", tmp_path / "out", data=tmp_path / "raw")


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.slow
def test_every_committed_plan_and_its_figures_fit_together(name, tmp_path):
    plan = plan_of(name, tmp_path, {})
    assert cells_of(plan), "every row has a recipe and every setting is known"
    rows = {section.name: {row.label for row in section.rows()} for section in plan.section}
    file = plan_file(name)
    for part in Expected.read(file.parent / "expected" / file.name).figures:
        assert part.dataset in plan.datasets and set(part.rows) <= rows[part.section]


@pytest.mark.slow
def test_at_another_scale_recipes_give_way_to_its_budget(tmp_path):
    whole, small = plan_of("scientific", tmp_path, {}), plan_of("scientific", tmp_path, {"scale": "small"})
    assert {whole.training_of(section) for section in whole.section} == {"recipe"}
    assert {small.training_of(section) for section in small.section} == {"own-epochs"}
    minutes = {
        cell.recipe.values["training"]["minutes"] for cell in cells_of(small) if "training" in cell.recipe.values
    }
    assert minutes == {10.0}


def test_with_and_without_own_items_is_one_model(tmp_path):
    cells = cells_of(plan_of("beauty", tmp_path, {"seeds": [0]}))
    by_section = {
        name: [c.stage.name for c in cells if c.section == name] for name in ("main-table", "main-table-unseen")
    }
    assert by_section["main-table"] == by_section["main-table-unseen"]


def test_the_users_data_are_found_below_a_folder_or_asked_for(tmp_path):
    (tmp_path / "amazon2014-beauty").mkdir()
    assert Path(plan_of("beauty", tmp_path, {}).datasets["amazon2014-beauty"].source).name == "amazon2014-beauty"
    with pytest.raises(
        SettingsError, match="beauty is measured on amazon2014-beauty, which does not come with"
    ) as error:
        plan_of("beauty", None, {})
    assert error.value.arguments == ("data",)
    with pytest.raises(SettingsError, match="nowhere: is not there; beauty needs the folder of amazon2014-beauty"):
        plan_of("beauty", tmp_path / "nowhere", {})
    with pytest.raises(SettingsError, match="no such experiment; choose one of demo, scientific, beauty"):
        plan_of("books", None, {})
