from __future__ import annotations

import pytest

from sidrec.core.errors import SettingsError
from sidrec.core.settings import merge
from sidrec.models import registry
from sidrec.models.registry import ModelRow
from sidrec.pipeline.benchmark.cells import Cell, cells_of
from sidrec.pipeline.benchmark.plan import Plan
from sidrec.pipeline.recipes import read_recipe


def cells(variants: list[dict], **plan) -> dict[tuple[str, int], Cell]:
    """By label and seed."""
    section = {"name": "s", "title": "S", "variants": variants}
    base = {"title": "t", "scale": "tiny", "datasets": {"shop": {"source": "demo"}}, "section": [section]}
    found = cells_of(Plan.parse({**base, **plan}, owner="a plan"))
    return {(cell.label, cell.seed): cell for cell in found}


def test_a_search_shares_the_model_and_not_the_evaluation():
    found = cells([{"label": "a"}, {"label": "b", "set": {"search": {"order": "left-to-right"}}}])
    a, b = found["a", 0], found["b", 0]
    assert a.stage == b.stage
    assert a.judged_name != b.judged_name
    assert b.search["order"] == "left-to-right" and b.search["beam_size"] == a.search["beam_size"]
    assert b.recipe.values["search"]["order"] == "adaptive"


def test_a_named_default_is_the_same_cell():
    found = cells([{"label": "a"}, {"label": "b", "set": {"attention": "bidirectional", "search": {"beam_size": 10}}}])
    assert found["a", 0].judged_name == found["b", 0].judged_name


def test_a_tokenizer_gets_ids_of_its_own_from_the_same_vectors():
    found = cells([{"label": "a"}, {"label": "b", "set": {"tokenize": {"tokenizer": "opq"}}}])
    a, b = found["a", 0].stage.ids, found["b", 0].stage.ids
    assert a.vectors.name == b.vectors.name
    assert a.name != b.name


def test_a_seed_redoes_the_tokenizer_too():
    found = cells([{"label": "a"}], seeds=[0, 5])
    assert found["a", 0].stage.ids.name != found["a", 5].stage.ids.name
    assert found["a", 0].stage.ids.vectors.name == found["a", 5].stage.ids.vectors.name
    assert found["a", 0].stage.name != found["a", 5].stage.name
    assert found["a", 5].recipe.values["training"]["seed"] == 5
    assert found["a", 5].recipe.values["tokenize"]["options"]["seed"] == 5


def test_seeds_can_share_the_ids():
    found = cells([{"label": "a"}], seeds=[0, 5], tokenizer_seed="first")
    assert found["a", 0].stage.ids.name == found["a", 5].stage.ids.name
    assert found["a", 0].stage.name != found["a", 5].stage.name


def test_the_budget_is_the_same_for_all_and_beats_recipes():
    data = {"shop": {"source": "demo", "recipes": "demo"}}
    found = cells([{"label": "a"}, {"label": "b", "model": "sasrec"}], budget={"epochs": 4}, datasets=data)
    assert {cell.recipe.values["training"]["epochs"] for cell in found.values()} == {4}
    assert found["b", 0].recipe.where == "demo/sasrec"


def test_at_small_models_of_different_kinds_keep_their_epochs_within_the_minutes():
    rows = [{"label": "a", "model": "sasrec"}, {"label": "b"}]
    section = {"name": "s", "title": "S", "variants": rows, "training": "own-epochs"}
    data = {"shop": {"source": "demo", "recipes": "demo"}}
    small = cells([], scale="small", section=[section], datasets=data)["a", 0].recipe.values["training"]
    assert small["epochs"] > 8 and small["minutes"] == 10
    named = cells([], scale="small", section=[section], datasets=data, budget={"epochs": 3})["a", 0].recipe.values
    assert (named["training"]["epochs"], named["training"]["minutes"]) == (3, None)
    plain = cells([], scale="small", section=[section])["b", 0].recipe.values["training"]  # no recipe
    assert (plain["epochs"], plain["minutes"]) == (8, 10)


def test_a_section_can_run_the_recipes_as_they_are():
    rows = [{"label": "a", "model": "sasrec-ce"}, {"label": "b", "model": "sasrec-ce", "set": {"dropout": 0.15}}]
    section = {"name": "s", "title": "S", "variants": rows, "training": "recipe"}
    data = {"shop": {"source": "demo", "recipes": "demo"}}
    given = {"scale": "tiny", "datasets": data, "budget": {"epochs": 1}, "settings": {"d_model": 8}, "seeds": [7]}
    found = cells([], section=[section], **given)
    committed = read_recipe("demo/sasrec-ce", "sasrec-ce").build().settings
    expected = merge(committed.model_dump(mode="json"), {"training": {"seed": 7}, "tokenize": {"options": {"seed": 7}}})
    assert found["a", 7].recipe.values == expected
    assert found["b", 7].recipe.values == merge(expected, {"dropout": 0.15})


def test_a_row_without_a_recipe_has_the_defaults_of_its_row(monkeypatch):
    where = ("sidrec.models.llada_rec.recommender", "LLaDARec", "semantic-id", "a row of its own")
    coarse = ModelRow("coarse", *where, {"tokenize": {"tokenizer": "rq-vae", "options": {"commitment_weight": 0.5}}})
    monkeypatch.setattr(registry, "MODELS", (*registry.MODELS, coarse))
    opq = {"label": "c", "model": "coarse", "set": {"tokenize": {"tokenizer": "opq"}}}
    found = cells([{"label": "a", "model": "sasrec-ce"}, {"label": "b", "model": "coarse"}, opq])
    assert found["a", 0].recipe.values["loss"] == "cross-entropy"
    b, c = (found[label, 0].recipe.values["tokenize"] for label in "bc")
    assert (b["tokenizer"], b["options"]["commitment_weight"]) == ("rq-vae", 0.5)
    assert c["tokenizer"] == "opq" and "commitment_weight" not in c["options"]


def test_a_recipe_section_without_a_recipe_says_so():
    section = {"name": "s", "title": "S", "variants": [{"label": "a", "model": "sasrec"}], "training": "recipe"}
    with pytest.raises(SettingsError, match="section s, a: there is no recipe shop/sasrec"):
        cells([], section=[section])


def test_the_row_beats_the_plan_beats_the_scale():
    rows = [{"label": "a"}, {"label": "b", "set": {"d_model": 16}}]
    assert cells(rows)["a", 0].recipe.values["d_model"] == 32
    found = cells(rows, settings={"d_model": 24, "not_everyone_has_this": 1})
    assert (found["a", 0].recipe.values["d_model"], found["b", 0].recipe.values["d_model"]) == (24, 16)


def test_what_a_section_has_in_common_lies_under_its_rows():
    section = {"name": "s", "title": "S", "set": {"d_model": 16, "dropout": 0.2}}
    rows = [{"label": "a"}, {"label": "b", "set": {"d_model": 8}}]
    found = cells(rows, section=[{**section, "variants": rows}])
    values = [(cell.recipe.values["d_model"], cell.recipe.values["dropout"]) for cell in found.values()]
    assert values == [(16, 0.2), (8, 0.2)]


def test_a_recipes_tokenizer_options_follow_only_where_they_fit():
    data = {"shop": {"source": "demo", "recipes": "demo"}}  # its recipe names training epochs of its own tokenizer
    paper = {"samples": "every-prefix", "attention": "bidirectional"}
    found = cells([{"label": "a", "set": {**paper, "tokenize": {"tokenizer": "opq"}}}], datasets=data)
    assert "training" not in found["a", 0].recipe.values["tokenize"]["options"]


def test_models_without_ids_ask_for_none():
    assert cells([{"label": "a", "model": "sasrec"}])["a", 0].stage.ids is None


def test_everything_wrong_is_said_at_once():
    with pytest.raises(SettingsError) as caught:
        cells(
            [
                {"label": "a", "model": "sasrek"},
                {"label": "b", "set": {"d_modle": 8}},
                {"label": "c", "set": {"search": {"beam": 8}}},
                {"label": "d", "set": {"tokenize": {"tokenizer": "opk"}}},
            ]
        )
    words = str(caught.value)
    assert "section s, a: 'sasrek' is not a model; did you mean sasrec" in words
    assert "section s, b: d_modle is not a setting of llada-rec; did you mean d_model?" in words
    assert "search.beam is not a setting" in words
    assert "'opk' is not a tokenizer; did you mean opq?" in words
