"""A model that loses against popularity says so."""

from __future__ import annotations

import re

import pytest

from sidrec.data.synthetic import cycle, habits
from sidrec.evaluation.evaluate import evaluate
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.models.floor import BELOW, beside_popularity, popularity_ndcg
from sidrec.models.popularity import Popularity
from sidrec.training.options import TrainingOptions

DATA = habits(n_users=60)
JUDGED = TrainingOptions(metric="ndcg@10", batch_size=16)


class Notes:
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def test_the_floor_is_popularitys_own_figure() -> None:
    found = evaluate(Popularity().fit(DATA), DATA, EvaluationSettings(split="validation", ks=(10,)))
    assert popularity_ndcg(DATA) == pytest.approx(found.metrics["ndcg@10"])


@pytest.mark.parametrize(
    ("users", "training", "words"),
    [
        (60, {"epochs": 9, "best_epoch": 3}, "training interactions are probably too few"),
        (900, {"epochs": 9, "best_epoch": 9}, r"trained too short \(9 epochs\)"),
        (900, {"epochs": 90, "best_epoch": 9}, r"the learning rate \(0.001\) is probably wrong"),
    ],
)
def test_below_it_there_is_a_warning_with_a_reason(users: int, training: dict[str, int], words: str) -> None:
    notes, data = Notes(), cycle(n_items=20, n_users=users, length=8)
    found = beside_popularity(data, {**training, "best_value": 0.0}, JUDGED, notes)  # type: ignore[arg-type]
    assert notes.said[0].startswith("WARNING: validation ndcg@10 0.0000 is below the")
    assert re.search(words, found[BELOW])


def test_above_it_or_unjudged_nothing_is_said() -> None:
    notes = Notes()
    for training, options in (({"best_value": 1.0}, JUDGED), ({}, JUDGED), ({"best_value": 0.0}, TrainingOptions())):
        assert beside_popularity(DATA, training, options, notes) == {}  # type: ignore[arg-type]
    assert beside_popularity(DATA, {}, None, notes) == {}  # type: ignore[arg-type]
    assert notes.said == []
