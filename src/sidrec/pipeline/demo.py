"""The tour: the synthetic shop through every stage of the product, each an artefact that later runs find finished."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from sidrec.core.artifacts import Origin, ensure
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.stages import Stages
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import demo_shop
from sidrec.evaluation.evaluate import evaluate_saved
from sidrec.evaluation.results import Evaluation
from sidrec.models.base import Recommender
from sidrec.models.id_search import Generation
from sidrec.models.ingredients import in_memory, inside
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.pipeline.recipes import read_recipe
from sidrec.pipeline.stages import ids_of
from sidrec.pipeline.train import train

RIVALS = ("demo/popularity", "demo/sasrec-ce", "demo/llada-rec-plus")
FLAGSHIP = "demo/llada-rec"
"""Recipes: what is trained and judged beside the flagship, and the flagship, which recommends."""


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
class Explained:
    """One shopper's generation, with what the drawing needs."""

    history: list[str]
    generation: Generation
    catalog: Catalog


@dataclass(frozen=True)
class DemoResult:
    statistics: dict[str, Any]
    evaluations: dict[str, Evaluation]
    recommender: str
    health: dict[str, Any]
    """The semantic IDs' health report."""
    examples: list[ShopperExample]
    explained: Explained

    def as_dict(self) -> dict[str, Any]:
        return {
            "data": self.statistics,
            "models": {key: evaluation.as_dict() for key, evaluation in self.evaluations.items()},
            "recommender": self.recommender,
            "semantic_ids": self.health,
            "examples": [vars(example) for example in self.examples],
        }


def run_demo(out: Path, size: DemoSize | None = None, progress: Progress | None = None) -> DemoResult:
    """Prepare, embed, tokenize, train, evaluate, recommend, explain."""
    out, size, progress = Path(out), size or DemoSize(), progress or SilentProgress()
    data = prepare_shop(out / "data", size, progress)
    evaluations = {}
    for recipe in map(read_recipe, RIVALS):
        train(out / "data", out / recipe.key, recipe, ingredients=out, progress=progress)
        evaluations[recipe.key] = judge(out, recipe.key, data, progress)
    recipe = read_recipe(FLAGSHIP)
    needed = ids_of(in_memory(data), recipe.key, recipe.build().settings)
    assert needed is not None
    place = inside(out)
    ids = Stages(place, progress).get(needed)
    made = train(out / "data", out / recipe.key, recipe, sids=place(needed), ingredients=out, progress=progress)
    model = cast(LLaDARec, made.model)
    evaluations[recipe.key] = judge(out, recipe.key, data, progress)
    examples = shopper_examples(model, data)
    explained = explain_first(model, data)
    return DemoResult(data.statistics().as_dict(), evaluations, model.key, ids.report, examples, explained)


def judge(out: Path, key: str, data: Dataset, progress: Progress) -> Evaluation:
    """A model's test figures, found finished where they are."""
    return evaluate_saved(out / key, data, judged(out, key), progress=progress)


def explain_first(model: LLaDARec, data: Dataset) -> Explained:
    """How the first shopper's list came about."""
    item_ids = data.catalog.item_ids.to_list()
    history = [item_ids[item] for item in data.cases("test").histories[0]]
    return Explained(history, model.explain(history, k=5, exclude_seen=True), data.catalog)


def prepare_shop(path: Path, size: DemoSize, progress: Progress) -> Dataset:
    """The synthetic shop as a dataset artefact."""
    origin = Origin("dataset", settings={"source": "synthetic demo shop", **vars(size)}, seed=size.seed)

    def make() -> None:
        demo_shop(size.n_items, size.n_users, size.seed).save(path, origin)

    return ensure(path, origin, make, Dataset.from_artifact, progress)


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
