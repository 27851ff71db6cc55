from __future__ import annotations

import pytest

from sidrec.core.choices import Between, OneOf, as_space, plain_space
from sidrec.core.errors import SettingsError


def test_values_say_what_is_tried():
    values = {"d_model": [32, 64], "training": {"learning_rate": {"low": 1e-4, "high": 1e-2, "log": True}}}
    space = as_space(values)
    assert space == {"d_model": OneOf((32, 64)), "training.learning_rate": Between(1e-4, 1e-2, log=True)}
    assert as_space(plain_space(space)) == space


@pytest.mark.parametrize("wrong", [64, [], {"low": 2, "high": 1}, {"low": 0, "high": 1, "log": True}, [[1]], "x"])
def test_what_cannot_be_tried_is_one_sentence_with_an_example(wrong):
    with pytest.raises(SettingsError, match=r"d_model: say what is tried as d_model=\[32,64,128\]"):
        as_space({"d_model": wrong})


def test_the_value_of_the_recipe_is_always_in_it():
    assert OneOf((1, 2)).including(3).values == (1, 2, 3)
    assert OneOf((1, 2)).including(None) == OneOf((1, 2))
    assert Between(0.1, 0.5).including(0.7) == Between(0.1, 0.7)
    assert Between(0.1, 0.5, log=True).including(0.0) == Between(0.1, 0.5, log=True)
    assert Between(1, 5).including(9).whole and not Between(0.5, 5).whole


def test_a_choice_knows_what_it_holds():
    assert OneOf((4, "a")).holds(4) and not OneOf((4, "a")).holds(None)
    assert Between(0.1, 1).holds(1) and not Between(0.1, 1).holds(1.5)
    assert not Between(0, 1).holds(None) and not Between(0, 1).holds("0")
