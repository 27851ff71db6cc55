"""The tour: the synthetic shop through every stage of the product, each an artefact that later runs find finished."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sidrec.core.artifacts import Origin, finished
from sidrec.core.progress import Progress, SilentProgress
from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import demo_shop
from sidrec.evaluation.evaluate import evaluate_saved
from sidrec.evaluation.results import Evaluation
from sidrec.models.base import Recommender
from sidrec.pipeline.recipes import Recipe
from sidrec.pipeline.train import train

RECIPES = (Recipe("popularity", {}, "demo"),)
"""What is trained and judged, in this order; the last one recommends."""


@dataclass(frozen=True)
class DemoSize:
    n_items: int = 2000
    n_users: int = 3000
    seed: int = 0


@dataclass(frozen=True)
class ShopperExample:
    """A shopper's past, what came next in truth, and what the model would have shown."""

    history: list[str]
    bought_next: str
    recommended: list[str]


@dataclass(frozen=True)
class DemoResult:
    statistics: dict[str, Any]
    evaluations: dict[str, Evaluation]
    recommender: str
    examples: list[ShopperExample]

    def as_dict(self) -> dict[str, Any]:
        return {
            "data": self.statistics,
            "models": {key: evaluation.as_dict() for key, evaluation in self.evaluations.items()},
            "recommender": self.recommender,
            "examples": [vars(example) for example in self.examples],
        }


def run_demo(out: Path, size: DemoSize | None = None, progress: Progress | None = None) -> DemoResult:
    """Prepare, train, evaluate, recommend."""
    out, size, progress = Path(out), size or DemoSize(), progress or SilentProgress()
    data = prepare_shop(out / "data", size, progress)
    evaluations = {}
    for recipe in RECIPES:
        model = train(out / "data", out / recipe.key, recipe, progress=progress).model
        evaluations[recipe.key] = evaluate_saved(out / recipe.key, data, judged(out, recipe.key), progress=progress)
    return DemoResult(data.statistics().as_dict(), evaluations, model.key, shopper_examples(model, data))


def prepare_shop(path: Path, size: DemoSize, progress: Progress) -> Dataset:
    """The synthetic shop as a dataset artefact."""
    origin = Origin("dataset", settings={"source": "synthetic demo shop", **vars(size)}, seed=size.seed)
    if finished(path, origin):
        progress.note(f"{path}: the synthetic shop is already there, skipped.")
    else:
        demo_shop(size.n_items, size.n_users, size.seed).save(path, origin)
    return Dataset.load(path)


def judged(out: Path, key: str) -> Path:
    """Where a model's evaluation goes."""
    return Path(out) / f"{key}-evaluation"


def shopper_examples(model: Recommender, data: Dataset, n_shoppers: int = 3, k: int = 5) -> list[ShopperExample]:
    """Some shoppers from all over the shop, with titles."""
    cases = data.cases("test")
    chosen = cases.take(np.linspace(0, len(cases) - 1, min(n_shoppers, len(cases))).astype(np.int64))
    item_ids, titles = data.catalog.item_ids.to_list(), data.catalog.titles
    histories = [[item_ids[item] for item in history] for history in chosen.histories]
    answer = model.recommend(histories, k, exclude_seen=True)
    return [
        ShopperExample([titles[item] for item in history], titles[target], shown)
        for history, target, shown in zip(chosen.histories, chosen.targets.tolist(), answer.titles, strict=True)
    ]
