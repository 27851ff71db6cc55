"""Recipes: found by name, laid over by options, refused in words; and every bundled one fits its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidrec.core.errors import SettingsError
from sidrec.models.registry import MODELS
from sidrec.pipeline.recipes import bundled_recipes, read_recipe

ROOT = Path(__file__).resolve().parents[2] / "recipes"


@pytest.mark.parametrize("name", bundled_recipes())
def test_every_bundled_recipe_builds_its_model(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.build().key == recipe.key
    assert name.rpartition("/")[2] in (recipe.key, f"{recipe.key}-authors")


@pytest.mark.parametrize(
    "dataset", ["scientific", "instrument", "game", "amazon2018-scientific", "amazon2014-beauty", "demo"]
)
def test_every_trained_model_has_a_recipe_for_every_set(dataset: str) -> None:
    trained = {row.key for row in MODELS if row.family != "floor"}
    assert trained <= {path.stem for path in (ROOT / dataset).glob("*.toml")}


def test_the_papers_settings() -> None:
    for name, layers in (("scientific", 4), ("instrument", 4), ("game", 6)):
        settings = read_recipe(f"{name}/llada-rec").build().settings.model_dump()
        assert (settings["d_model"], settings["n_heads"], settings["n_layers"]) == (256, 8, layers)
        assert settings["attention"] == "bidirectional" and settings["samples"] == "every-prefix"
        assert settings["training"]["batch_size"] == 1024 and settings["training"]["epochs"] == 150
        options = settings["tokenize"]["options"]
        assert (options["n_codes"], options["codebook_size"], options["commitment_weight"]) == (4, 256, 0.25)
        assert options["code_width"] == 32
        assert (settings["head"], settings["positions"], settings["attention_dropout"]) == ("shared", "authors", 0.1)
        masks = {name: value for name, value in settings["masking"].items() if name != "ratio_floor"}
        assert masks == {
            "next_item": "ratio",
            "history_ratio": "per-sequence",
            "history_input": "history",
            "history_scale": "sum",
        }
        assert settings["search"]["confidence"] == "all"


def test_the_authors_code() -> None:
    settings = read_recipe("amazon2018-scientific/llada-rec-authors").build().settings.model_dump()
    assert (settings["d_model"], settings["n_layers"], settings["training"]["epochs"]) == (128, 2, 12)
    assert (settings["head"], settings["positions"], settings["attention_dropout"]) == ("shared", "authors", 0.1)
    masks = {name: value for name, value in settings["masking"].items() if name != "ratio_floor"}
    assert masks == {
        "next_item": "exact-count",
        "history_ratio": "per-item",
        "history_input": "history-and-target",
        "history_scale": "positions",
    }


def test_options_are_laid_over_the_recipe(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[model]\nkey = "sasrec"\nd_model = 32\n[model.training]\nepochs = 3\nseed = 7\n')
    recipe = read_recipe(str(file), assignments=["model.d_model=16", "training.epochs=5"])
    training = {"epochs": 5, "seed": 7}
    assert recipe.values == {"d_model": 16, "training": training}


def test_without_a_name_it_is_the_model_we_would_choose() -> None:
    recipe = read_recipe(None, assignments=["d_model=16"])
    assert (recipe.key, recipe.values) == ("llada-rec-plus", {"d_model": 16})


def test_refusals(tmp_path: Path) -> None:
    nameless = tmp_path / "nameless.toml"
    nameless.write_text("[model]\nd_model = 8\n")
    with pytest.raises(SettingsError, match="no model is named"):
        read_recipe(str(nameless))
    with pytest.raises(SettingsError, match=r"bundled recipes: .*demo/llada-rec"):
        read_recipe("demo/nothing")
    file = tmp_path / "mine.toml"
    file.write_text('[modle]\nkey = "sasrec"\n')
    with pytest.raises(SettingsError, match=r"\[modle\] is not a section"):
        read_recipe(str(file))
    file.write_text('[model]\nkey = "sasrec"\nd_modle = 3\n')
    with pytest.raises(
        SettingsError, match=r"mine.toml: model.d_modle is not a setting of sasrec; did you mean d_model\?"
    ):
        read_recipe(str(file)).build()
    with pytest.raises(SettingsError, match="'sasrek' is not a model; did you mean sasrec"):
        read_recipe(None, "sasrek").build()


def test_a_model_that_is_trained_first_is_trained_by_the_recipe_beside() -> None:
    beside = read_recipe("amazon2018-scientific/sasrec-ce").values
    vectors = read_recipe("amazon2018-scientific/tiger-sas").values["embedding"]
    assert vectors["model_settings"] == beside
    both = read_recipe("amazon2018-scientific/letter").values["tokenize"]["collaborative"]
    assert both["model_settings"] == beside
    assert "embedding" not in read_recipe("amazon2018-scientific/tiger").values
    over = read_recipe("demo/tiger-sas", None, ["embedding.model_settings.d_model=8"]).values["embedding"]
    assert over["model_settings"] == {**read_recipe("demo/sasrec-ce").values, "d_model": 8}
    other = read_recipe("demo/tiger-sas", None, ["embedding.from_model=gru4rec"]).build().settings.model_dump()
    assert other["embedding"]["model_settings"] == read_recipe("demo/gru4rec").values
    assert other["embedding"]["encoder"] == "given"


def test_without_a_recipe_beside_it_has_its_defaults(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[model]\nkey = "tiger-sas"\n', encoding="utf-8")
    assert read_recipe(str(tmp_path / "mine.toml")).values == {}
    assert read_recipe(None, "tiger-sas").values == {}
