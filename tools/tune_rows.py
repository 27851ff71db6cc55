"""Search for recipes with equal trials for every row, on validation only; killed, it goes on where it stopped.

    python tools/tune_rows.py --data runs/data --recipes amazon2018-scientific --out runs/tuned

`--data` is a prepared dataset. Rows, trials, seed and search space: tools/tune_rows.toml. Each finished trial is one
line of OUT/trials.jsonl; test items are never ranked. `--row NAME` and `--trials N` do a part, `--minutes M` bounds the
training of a trial. The last line printed is one JSON object with the best trial of every row.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sidrec.core.settings import merge, read_toml
from sidrec.data.dataset import Dataset
from sidrec.evaluation.evaluate import evaluate
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.models.base import Recommender
from sidrec.pipeline.recipes import Recipe, bundled_recipes, read_recipe
from sidrec.pipeline.train import train

PLAN = Path(__file__).with_suffix(".toml")
Space = Mapping[str, list[Any]]


@dataclass(frozen=True)
class Row:
    """A model with what makes it this row, and what is searched in this row beside the common space."""

    name: str
    model: str
    set: Mapping[str, Any] = field(default_factory=dict)
    space: Space = field(default_factory=dict)


@dataclass(frozen=True)
class Search:
    seed: int
    trials: int
    metric: str
    space: Space
    rows: tuple[Row, ...]

    @classmethod
    def read(cls, path: Path) -> Search:
        values = read_toml(path)
        rows = tuple(Row(name, **row) for name, row in values.pop("rows").items())
        return cls(**values, rows=rows)

    def settings(self, row: Row, trial: int) -> dict[str, Any]:
        """What a trial lays over the row's recipe: nothing for the first, then equal draws for equal names."""
        values: dict[str, Any] = dict(row.set)
        for name, choices in {**self.space, **row.space}.items() if trial else ():
            chosen = random.Random(f"{self.seed}/{trial}/{name}").choice(choices)
            for part in reversed(name.split(".")):
                chosen = {part: chosen}
            values = merge(values, chosen)
        return values


@dataclass(frozen=True)
class Trials:
    """The file of finished trials; a line that a kill cut off is no trial."""

    file: Path

    def read(self) -> list[dict[str, Any]]:
        lines = self.file.read_text(encoding="utf-8").split("\n") if self.file.is_file() else []
        return [json.loads(line) for line in lines[:-1]]

    def add(self, trial: Mapping[str, Any]) -> None:
        whole = "".join(json.dumps(one) + "\n" for one in [*self.read(), trial])
        new = self.file.with_suffix(".tmp")
        new.write_text(whole, encoding="utf-8")
        new.rename(self.file)

    def missing(self, search: Search) -> Iterator[tuple[Row, int]]:
        """Trial after trial through all rows, so that rows are at all times searched alike."""
        done = {(one["row"], one["trial"]) for one in self.read()}
        for trial in range(search.trials):
            yield from ((row, trial) for row in search.rows if (row.name, trial) not in done)

    def best(self, metric: str) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for one in self.read():
            if one["row"] not in found or one[metric] > found[one["row"]][metric]:
                found[one["row"]] = one
        return found


def recipe_of(row: Row, folder: str, values: Mapping[str, Any]) -> Recipe:
    name = f"{folder}/{row.model}"
    base = read_recipe(name if name in bundled_recipes() else None, row.model)
    return Recipe(row.model, merge(base.values, values), base.where)


def judge(model: Recommender, data: Dataset) -> dict[str, float]:
    """Validation figures, with and without the users' own items among the candidates."""
    found: dict[str, float] = {}
    for ending, hidden in (("", False), ("_unseen", True)):
        settings = EvaluationSettings(split="validation", ks=(10,), exclude_seen=hidden, bootstrap=100)
        metrics = evaluate(model, data, settings).metrics
        found |= {f"{name}{ending}": round(metrics[name], 6) for name in ("recall@10", "ndcg@10")}
    return found


def run_trial(row: Row, trial: int, search: Search, asked: argparse.Namespace) -> dict[str, Any]:
    values = search.settings(row, trial)
    if asked.minutes is not None:
        values = merge(values, {"training": {"minutes": asked.minutes}})
    place, began = asked.out / "work" / f"{row.name}-{trial}", time.process_time()
    model = train(asked.data, place, recipe_of(row, asked.recipes, values), ingredients=asked.out).model
    cpu_seconds = time.process_time() - began
    figures = judge(model, Dataset.load(asked.data))
    trained = model.training_summary()
    shutil.rmtree(place)
    costs = {"seconds": round(trained["seconds"], 1), "cpu_seconds": round(cpu_seconds, 1)}
    return {"row": row.name, "trial": trial, **figures, "epochs": trained["epochs"], **costs, "set": values}


def main() -> None:
    asked = _asked()
    search, trials = Search.read(asked.plan), Trials(asked.out / "trials.jsonl")
    names = {row.name for row in search.rows}
    if unknown := [name for name in asked.row if name not in names]:
        raise SystemExit(f"{unknown[0]}: no such row; choose one of {', '.join(sorted(names))}.")
    rows = tuple(row for row in search.rows if not asked.row or row.name in asked.row)
    search = Search(search.seed, asked.trials or search.trials, search.metric, search.space, rows)
    asked.out.mkdir(parents=True, exist_ok=True)
    for row, trial in list(trials.missing(search)):
        found = run_trial(row, trial, search, asked)
        trials.add(found)
        print(json.dumps(found), flush=True)
    print(json.dumps({"best": trials.best(search.metric)}))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--recipes", required=True, help="Folder of bundled recipes that trial 0 takes as they are.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plan", type=Path, default=PLAN)
    parser.add_argument("--row", action="append", default=[])
    parser.add_argument("--trials", type=int)
    parser.add_argument("--minutes", type=float)
    return parser.parse_args()


if __name__ == "__main__":
    main()
