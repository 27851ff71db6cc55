from __future__ import annotations

from pathlib import Path

import pytest

from sidrec.core.errors import SettingsError
from sidrec.models.registry import MODELS
from sidrec.pipeline.benchmark.cells import cells_of
from sidrec.pipeline.benchmark.plan import find_plan, only_sections, parse_data, read_plan, slug

EXPERIMENTS = Path(__file__).resolve().parents[3] / "recipes" / "experiments"
SECTION = '[[section]]\nname = "a"\ntitle = "A"\nmodels = ["popularity"]\n'


def plan(folder: Path, text: str) -> Path:
    file = folder / "plan.toml"
    file.write_text('title = "t"\n' + text, encoding="utf-8")
    return file


def test_all_takes_every_row_of_the_registry(tmp_path):
    text = '[datasets]\ndemo = "demo"\n[[section]]\nname = "a"\ntitle = "A"\nmodels = "all"\n'
    found = read_plan(plan(tmp_path, text))
    assert [row.model for row in found.section[0].rows()] == [row.key for row in MODELS]


def test_sections_of_other_plans_are_included(tmp_path):
    (tmp_path / "other.toml").write_text(SECTION.replace('"a"', '"b"'), encoding="utf-8")
    found = read_plan(plan(tmp_path, f'include = ["other.toml"]\n[datasets]\ndemo = "demo"\n{SECTION}'))
    assert [section.name for section in found.section] == ["a", "b"]


def test_changes_replace_what_the_file_says(tmp_path):
    file = plan(tmp_path, f'scale = "paper"\nseeds = [7]\n[datasets]\ndemo = "demo"\n{SECTION}')
    found = read_plan(file, {"scale": "tiny", "seeds": [0, 1]})
    assert (found.scale, found.seeds, found.agreed_budget.epochs) == ("tiny", (0, 1), found.size.budget.epochs)


def test_sources_are_relative_to_the_plan_and_can_be_moved(tmp_path):
    (tmp_path / "near").mkdir()
    (tmp_path / "far").mkdir()
    file = plan(tmp_path, f'[datasets]\nmine = "near"\n{SECTION}')
    assert read_plan(file).datasets["mine"].source == str(tmp_path / "near")
    assert read_plan(file, data={"mine": str(tmp_path / "far")}).datasets["mine"].source == str(tmp_path / "far")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'[datasets]\nmine = "nowhere"\n{SECTION}', "say where it is, as mine=PATH"),
        (f'[datasets]\ndemo = "demo"\n{SECTION}baseline = "x"\n', "baseline 'x' is no row"),
        (f'[datasets]\ndemo = "demo"\n{SECTION}few_seeds = {{ x = 1 }}\n', "few_seeds names 'x'"),
        (f'[datasets]\ndemo = "demo"\n{SECTION}{SECTION}', "two sections are called 'a'"),
        (f'sedes = [1]\n[datasets]\ndemo = "demo"\n{SECTION}', "sedes is not a setting of a plan; did you mean seeds"),
        ('[datasets]\ndemo = "demo"\n[[section]]\nname = "a"\ntitle = "A"\n', "needs models or variants"),
        (f'seeds = [1, 1]\n[datasets]\ndemo = "demo"\n{SECTION}', "a seed is named twice"),
        (f'ks = [0]\n[datasets]\ndemo = "demo"\n{SECTION}', "ks.0"),
        (f'[datasets]\n"a/b" = "demo"\n{SECTION}', "a/b"),
        (f'include = "x"\n[datasets]\ndemo = "demo"\n{SECTION}', "include is a list"),
        (f'datasets = "demo"\n{SECTION}', "datasets is a table"),
        (f'[datasets]\ndemo = "demo"\n{SECTION}variants = [{{ label = "Popularity" }}]\n', "two rows are called"),
    ],
)
def test_a_wrong_plan_is_named(tmp_path, text, words):
    with pytest.raises(SettingsError, match=words):
        read_plan(plan(tmp_path, text))


def test_a_place_for_unknown_data_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"the plan has no such data set \(it has: demo\), and .* is not there"):
        read_plan(plan(tmp_path, f'[datasets]\ndemo = "demo"\n{SECTION}'), data={"other": "x"})


def test_places_are_name_and_path():
    assert parse_data(["a=b=c", "d=e"]) == {"a": "b=c", "d": "e"}
    with pytest.raises(SettingsError, match="NAME=PATH"):
        parse_data(["a"])


def test_a_label_becomes_a_file_name():
    assert slug("without History/loss (λ = 0.5)") == "without-history-loss-0.5"
    assert slug("λ") == "row"


def test_some_sections_can_be_chosen():
    plan = read_plan(EXPERIMENTS / "smoke.toml")
    assert [section.name for section in only_sections(plan, ["steps", "orders"]).section] == ["orders", "steps"]
    with pytest.raises(SettingsError, match="nothing: the plan has no such section; it has: main-table"):
        only_sections(plan, ["nothing"])


EVERY = ["main-table", "tokenizers", "training", "inference", "attention", "orders", "steps", "lambda"]


@pytest.mark.parametrize("name", EVERY)
def test_each_experiment_is_a_plan(name):
    assert [section.name for section in read_plan(EXPERIMENTS / f"{name}.toml").section] == [name]


@pytest.mark.parametrize("names", [["smoke"], ["plus-scientific", "scientific"]])
def test_every_experiment_of_the_paper_is_in_one_plan_or_in_the_two_of_a_real_set(names):
    data = {"amazon2018-scientific": "demo"} if "scientific" in names else {}
    plans = [read_plan(EXPERIMENTS / f"{name}.toml", data=data) for name in names]
    assert {section.name for found in plans for section in found.section} >= set(EVERY)


def test_a_plan_without_its_data_says_how_to_give_it():
    with pytest.raises(SettingsError, match="as amazon2018-scientific=PATH"):
        read_plan(EXPERIMENTS / "scientific.toml")


def test_a_dear_row_or_section_takes_the_first_of_the_seeds(tmp_path):
    two = SECTION.replace('["popularity"]', '["popularity", "tiger"]')
    text = f'seeds = [4, 5, 6]\n[datasets]\ndemo = "demo"\n{two}n_seeds = 2\nfew_seeds = {{ tiger = 1 }}\n'
    found = read_plan(plan(tmp_path, text))
    assert [found.seeds_of(found.section[0], row) for row in found.section[0].rows()] == [(4, 5), (4,)]
    assert [(cell.label, cell.seed) for cell in cells_of(found)] == [("popularity", 4), ("popularity", 5), ("tiger", 4)]


@pytest.mark.parametrize(("name", "last_seed"), [("scientific", 1), ("plus-scientific", 2)])
def test_every_cell_of_a_committed_plan_has_settings_that_hold(name, last_seed):
    found = read_plan(EXPERIMENTS / f"{name}.toml", data={"amazon2018-scientific": "demo"})
    cells = cells_of(found)
    assert {cell.section for cell in cells} == {section.name for section in found.section}
    assert max(cell.seed for cell in cells) == last_seed


def test_own_data_is_added_by_its_name(tmp_path):
    (tmp_path / "mine").mkdir()
    found = read_plan(plan(tmp_path, f'[datasets]\ndemo = "demo"\n{SECTION}'), data={"shop": str(tmp_path / "mine")})
    assert list(found.datasets) == ["demo", "shop"]
    assert found.datasets["shop"].source == str(tmp_path / "mine")


def test_bundled_plans_have_names():
    assert read_plan(Path("smoke")).title == read_plan(find_plan(Path("smoke"))).title
    with pytest.raises(SettingsError, match=r"smok: no such plan; give a TOML file, or one of: .*smoke"):
        find_plan(Path("smok"))
