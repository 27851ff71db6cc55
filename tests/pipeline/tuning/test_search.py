from __future__ import annotations

import pytest

from sidrec.core.choices import OneOf
from sidrec.core.errors import SidrecError
from sidrec.core.progress import SilentProgress
from sidrec.data.synthetic import cycle
from sidrec.pipeline.recipes import read_recipe
from sidrec.pipeline.tuning.search import Search, search_of


@pytest.fixture(scope="module")
def data():
    return cycle(n_items=20, n_users=24, length=8)


def searched(data, key="sasrec-ce", settings=("training.epochs=2", "d_model=8"), vary=(), seed=0) -> Search:
    return search_of(read_recipe(None, key, settings), data, vary, seed, SilentProgress())


def test_the_first_trial_is_the_recipe_and_always_in_the_space(data):
    search = searched(data)
    assert search.first()["d_model"] == 8 and search.space["d_model"] == OneOf((32, 64, 128, 256, 8))
    assert search.base == {"d_model": 8, "loss": "cross-entropy", "training": {"epochs": 2}}
    assert (
        search.recipe({}).build().settings
        == read_recipe(None, "sasrec-ce", ["training.epochs=2", "d_model=8"]).build().settings
    )


def test_what_is_chosen_is_laid_over_the_recipe(data):
    search = searched(data, vary=["training.learning_rate=[0.1]"])
    settings = search.recipe({"training.learning_rate": 0.1}).build().settings
    assert (settings.training.learning_rate, settings.training.epochs, settings.d_model) == (0.1, 2, 8)


def test_sizes_that_the_data_choose_are_chosen_once(data):
    search = searched(data, "llada-rec", ())
    model = read_recipe(None, "llada-rec").build()
    model.settle(data, SilentProgress())
    assert search.recipe({}).build().settings == model.settings


@pytest.mark.parametrize(
    ("key", "vary", "words"),
    [
        ("popularity", (), "popularity has nothing to tune"),
        ("sasrec-ce", ("d_modl=[1]",), "d_modl is not a setting of sasrec-ce"),
        ("sasrec-ce", ("d_model=8",), "say what is tried"),
    ],
)
def test_wrong_questions_are_refused(data, key, vary, words):
    with pytest.raises(SidrecError, match=words):
        searched(data, key, (), vary)


def test_another_search_in_the_same_place_is_refused(data, tmp_path):
    searched(data).agree_with(tmp_path)
    searched(data).agree_with(tmp_path)
    with pytest.raises(SidrecError, match="holds a search with another seed"):
        searched(data, seed=1).agree_with(tmp_path)
