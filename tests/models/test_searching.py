from __future__ import annotations

import pytest

from sidrec.core.errors import SettingsError
from sidrec.models.rpg import RPG, RPGSearch


def test_what_is_not_named_stays():
    model = RPG(search={"beam_size": 7})
    other = model.with_search({"n_steps": 3})
    assert other.search == RPGSearch(beam_size=7, n_steps=3)
    assert model.search == RPGSearch(beam_size=7)  # the model itself is as it was
    assert model.parsed_search(RPGSearch(n_steps=5)).n_steps == 5
    assert other.asked_by()["search"]["n_steps"] == 3


def test_wrong_words_are_told():
    with pytest.raises(SettingsError, match="did you mean beam_size"):
        RPG().with_search({"beam_sise": 3})
