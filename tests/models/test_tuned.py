"""Every model that is trained says beside its settings what is worth trying."""

from __future__ import annotations

import pytest

from sidrec.models.registry import MODELS
from sidrec.pipeline.recipes import within

TRAINED = [row for row in MODELS if "training" in row.load_class().settings_class.model_fields]


def test_only_what_is_trained_has_something_to_try():
    assert {row.key for row in MODELS} - {row.key for row in TRAINED} == {"popularity"}
    assert not next(row for row in MODELS if row.key == "popularity").load_class().settings_class.tuned


@pytest.mark.parametrize("row", TRAINED, ids=lambda row: row.key)
def test_all_that_is_tried_can_be_set(row):
    space = row.load_class().settings_class.tuned
    assert {"training.learning_rate", "dropout", "d_model"} <= set(space)
    for name, choice in space.items():
        for value in choice.ends():
            row.settings(within(name.split("."), value), where="test")
