"""Whether a trained model is better than no model: its validation beside that of the most popular items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sidrec.core.progress import Progress
from sidrec.data.dataset import Dataset
from sidrec.training.options import TrainingOptions

_METRIC, _K = "ndcg@10", 10
_FEW_STEPS, _FEW_INTERACTIONS = 500, 2_000
BELOW = "below_popularity"
"""Where the training's record says why a model is not worth using."""


def beside_popularity(
    data: Dataset, training: Mapping[str, Any], options: TrainingOptions | None, progress: Progress
) -> dict[str, Any]:
    """What to add to the record of a training that was judged by NDCG@10; a model that lost says so loudly."""
    best = training.get("best_value")
    if options is None or options.metric != _METRIC or best is None or not len(data.cases("validation")):
        return {}
    floor = popularity_ndcg(data)
    if best >= floor:
        return {}
    words = (
        f"validation {_METRIC} {best:.4f} is below the {floor:.4f} of the most popular items, so this model is worse "
        f"than none; {_likely_reason(data, training, options)}"
    )
    progress.note(f"WARNING: {words}")
    return {BELOW: words}


def popularity_ndcg(data: Dataset) -> float:
    """NDCG@10 of the same list for everybody, on all validation cases."""
    counts, cases = data.train_counts(), data.cases("validation")
    top = np.argsort(-counts, kind="stable")[:_K]
    gains = np.zeros(len(counts))
    gains[top] = 1 / np.log2(np.arange(len(top)) + 2)
    return float(gains[cases.targets].mean())


def _likely_reason(data: Dataset, training: Mapping[str, Any], options: TrainingOptions) -> str:
    epochs, interactions = int(training.get("epochs", 0)), int(data.train_ends.sum())
    steps = epochs * -(-interactions // options.batch_for(max(1, interactions)))
    if interactions < _FEW_INTERACTIONS:
        return f"{interactions:,} training interactions are probably too few for it: add data, or use popularity."
    if steps < _FEW_STEPS or training.get("best_epoch") == epochs:
        return f"it was probably trained too short ({epochs} epochs): raise training.epochs (it goes on from here)."
    return (
        f"the learning rate ({options.learning_rate:g}) is probably wrong for this data: lower training.learning_rate."
    )
