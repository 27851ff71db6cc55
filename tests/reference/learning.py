"""Does a model learn the set whose answer is known: after item i always comes item i + 1."""

from __future__ import annotations

from typing import Any

from sidrec.data.synthetic import cycle
from sidrec.models.base import Recommender
from sidrec.models.request import Request


def cycle_recall(model: Recommender) -> float:
    """Recall@1 on the test items of a small cycle."""
    data = cycle(n_items=20, n_users=200, length=10)
    cases = data.cases("test")
    first = model.fit(data).rank(Request(cases.histories, 1)).items[:, 0]
    return float((first == cases.targets).mean())


def quick(epochs: int = 8, batch_size: int = 64, **settings: Any) -> dict[str, Any]:
    """Settings that learn the cycle in about a second."""
    training = {"epochs": epochs, "batch_size": batch_size, "learning_rate": 0.02, "validate_every": epochs}
    return {"d_model": 32, "n_layers": 1, "dropout": 0.0, "max_history": 8, "training": training, **settings}
