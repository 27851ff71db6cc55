from __future__ import annotations

import pytest
from pydantic import ValidationError

from sidrec.models.popularity import Popularity
from sidrec.models.sasrec import SASRecSettings
from sidrec.pipeline.benchmark.budget import Budget


def test_a_budget_must_say_something():
    with pytest.raises(ValidationError, match="epochs or minutes"):
        Budget()


def test_words_name_both_limits():
    assert str(Budget(epochs=3, minutes=1.5)) == "at most 3 epochs or 1.5 minutes of training for every model"


def test_only_models_that_train_get_it():
    assert Budget(epochs=3).values(SASRecSettings) == {"training": {"epochs": 3}}
    assert Budget(minutes=2).values(SASRecSettings) == {"training": {"minutes": 2.0}}
    assert Budget(epochs=3).values(Popularity.settings_class) == {}


def test_own_epochs_are_held_by_the_minutes():
    words = Budget(epochs=3, minutes=2).words("own-epochs")
    assert words == "each model the epochs of its recipe, at most 2 minutes of training for every model"
    assert Budget(epochs=3).in_minutes() == Budget(epochs=3)


def test_recipes_are_named_as_what_they_are():
    assert Budget(epochs=3).words("recipe") == "each model in the size and for the epochs of its committed recipe"
    assert Budget(epochs=3).words("budget") == "at most 3 epochs of training for every model"
