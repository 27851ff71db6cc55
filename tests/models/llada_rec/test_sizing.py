"""Sizes that nobody named."""

from __future__ import annotations

import numpy as np
import pytest

from sidrec.data.synthetic import cycle
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.llada_rec.sizing import Work, in_time, sized
from sidrec.pipeline.recipes import read_recipe

SMALL = cycle(n_items=30, n_users=100, length=9)
"""Histories of seven in training."""


class Notes:
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def settled(model: LLaDARec, notes: Notes | None = None) -> LLaDARecSettings:
    model.settle(SMALL, notes or Notes())  # type: ignore[arg-type]
    return model.settings


def test_a_small_shop_gets_a_small_model() -> None:
    notes = Notes()
    found = settled(LLaDARec(), notes)
    assert (found.d_model, found.n_heads, found.n_layers) == (64, 4, 2)
    assert found.max_history == 7
    assert 5 <= found.training.epochs <= 150
    assert found.training.batch_for(600) == 16
    assert found.training.validate_every == 1
    assert "size by the data (600 pairs of history and next item): d_model 64, 2 layers, 7 items" in notes.said[0]
    assert "of training on this machine (" in notes.said[0]


def test_what_is_named_stays() -> None:
    found = settled(LLaDARec(d_model=32, max_history=3, training={"epochs": 2, "batch_size": 64}))
    assert (found.d_model, found.n_layers, found.max_history) == (32, 4, 3)
    assert (found.training.epochs, found.training.batch_size, found.training.min_steps) == (2, 64, 1)
    assert settled(LLaDARec(preset="paper")) == LLaDARec(preset="paper").settings
    assert settled(LLaDARec(LLaDARecSettings())) == LLaDARecSettings()


def test_recipes_mean_what_they_say_and_a_bare_model_does_not() -> None:
    for recipe, chooses in (
        (read_recipe("demo/llada-rec"), False),
        (read_recipe(None, "llada-rec", ["d_model=32"]), True),
        (read_recipe(None, "llada-rec", ["preset=paper"]), False),
        (read_recipe("demo/llada-rec", None, ["preset=auto"]), True),
    ):
        assert recipe.build().fits_size == chooses


def test_it_is_said_once_and_chosen_anew_for_other_data() -> None:
    model, notes = LLaDARec(), Notes()
    settled(model, notes)
    settled(model, notes)
    assert len(notes.said) == 1
    model.settle(cycle(n_items=30, n_users=100, length=30), notes)  # type: ignore[arg-type]
    assert model.settings.max_history == 20
    assert model.origin("x").settings["settings"]["max_history"] == 20


def test_much_data_gets_the_published_width_and_fewer_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = np.full(100_000, 12)
    histories = type("Rows", (), {"lengths": lengths})()
    data = type("Data", (), {"train_sequences": lambda _: histories})()
    found = sized(LLaDARecSettings(), data).settings  # type: ignore[arg-type]
    assert (found.d_model, found.n_heads, found.n_layers, found.training.epochs) == (256, 8, 4, 5)


@pytest.mark.parametrize(
    ("seconds", "words"), [(3, "10 seconds"), (44, "40 seconds"), (600, "10 minutes"), (7200, "2.0 hours")]
)
def test_times_are_rough(seconds: float, words: str) -> None:
    assert in_time(seconds) == words


def test_validation_is_a_part_of_the_work() -> None:
    settings, lengths = LLaDARecSettings(d_model=64, n_heads=4, n_layers=2, max_history=20), np.full(100, 9)
    work = Work.of(settings, lengths, pairs=800)
    weights = 2 * (4 * 64 * 64 + 3 * 64 * 256)
    assert work.training == 6 * weights * 800 * 4 * (2 * 9 + 1)
    assert work.validation == 2 * weights * 100 * 4 * 10 * 4 * (9 + 1)
    rare = settings.model_copy(
        update={"training": settings.training.model_copy(update={"validate_every": 5, "epochs": 10})}
    )
    assert work.in_all(rare) == 10 * work.training + 2 * work.validation
