"""Every model that learns has a recipe for every data set the reports speak of, and each is one its model accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidrec.core.settings import read_toml
from sidrec.models.item_objective import METRIC
from sidrec.models.registry import MODELS, find_model

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
DATASETS = ("scientific", "instrument", "game", "amazon2018-scientific", "amazon2014-beauty", "demo")
KEYS = [row.key for row in MODELS if row.family != "floor"]


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("key", KEYS)
def test_the_recipe_is_one_of_its_model(key, dataset):
    values = read_toml(RECIPES / dataset / f"{key}.toml")["model"]
    assert values.pop("key") == key
    settings = find_model(key).make(**values).settings
    assert settings.max_history == (50 if key == "llada-rec-plus" else 20)  # type: ignore[attr-defined]
    assert settings.training.metric == METRIC  # type: ignore[attr-defined]
