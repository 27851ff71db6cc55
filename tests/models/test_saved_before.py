"""Models that the version before wrote still load and answer as they did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sidrec.models.registry import load_model

SAVED = Path(__file__).parents[1] / "data" / "saved_before"
BEFORE = json.loads((SAVED / "answers.json").read_text())


@pytest.mark.parametrize("key", BEFORE["answers"])
def test_a_model_of_the_version_before_answers_as_it_did(key: str, tmp_path: Path) -> None:
    """The llada-rec among them was given an item and had one taken away before it was saved; the llada-rec-plus is of
    the time when its attention knew places only."""
    model = load_model(SAVED / key)
    for loaded in (model, load_model(model.save(tmp_path / key))):
        answer = loaded.recommend(BEFORE["histories"], k=5)
        assert answer.item_ids == BEFORE["answers"][key]["item_ids"]
        assert answer.scores == [pytest.approx(row, abs=1e-5) for row in BEFORE["answers"][key]["scores"]]
