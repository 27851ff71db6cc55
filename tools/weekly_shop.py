"""A made-up shop over eight weeks: what becomes of a model that stays, goes on every week, or is trained anew.

    python tools/weekly_shop.py --rows docs/results/weekly --page docs/weekly.md

Everything is drawn from one seed. The shop drifts: each week new items arrive, old ones fade, and what people buy after
what changes in some groups of items. Every week's model is judged on the week that follows, which nobody has seen: the
last item of every user who came back. `frozen` is the first week's model, to which new items are added without
training; `warm` goes on from the week before; `fresh` makes IDs and weights anew. With `--rows` the figures of a model
are kept in that folder and not made again. About two minutes on one free core.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sidrec
from sidrec.data.dataset import Dataset
from sidrec.models.base import Recommender
from sidrec.models.capabilities import AddsItems

MARK, END = "<!-- written by tools/weekly_shop.py -->", "<!-- end of what tools/weekly_shop.py wrote -->"
MATERIALS = ("oak", "steel", "glass", "linen", "clay", "wool", "cork", "brass", "paper", "stone")
THINGS = ("lamp", "chair", "kettle", "scarf", "tent", "guitar", "bowl", "knife", "rug", "clock")
WEEK = 7 * 24 * 3600
TEXT = {"encoder": "tfidf", "pca": 32}
TRAINING = {"epochs": 8, "min_steps": 16, "batch_size": 128, "learning_rate": 4e-3, "metric": None}
MODELS: dict[str, dict[str, Any]] = {
    "llada-rec-plus": {
        **{"d_model": 48, "n_layers": 1, "embedding": TEXT, "training": TRAINING},
        "tokenize": {"options": {"n_codes": 4, "codebook_size": 32, "pca": None}},
    },
    "sasrec-ce": {"d_model": 48, "n_layers": 1, "training": {**TRAINING, "epochs": 16, "learning_rate": 8e-3}},
    "llada-rec": {
        **{"d_model": 48, "n_heads": 4, "n_layers": 1, "d_ff": 96, "dropout": 0.1, "attention": "inter-item-causal"},
        **{"positions": "absolute", "samples": "one-pass", "logit_temperature": 0.3, "history_mask_weight": 1.0},
        "embedding": TEXT,
        "tokenize": {"tokenizer": "rq-kmeans", "options": {"n_codes": 3, "codebook_size": 32, "pca": None}},
        "search": {"beam_size": 10},
        "training": TRAINING,
    },
}
SHOWN = ("llada-rec-plus", "sasrec-ce")
"""What the page shows; `--model llada-rec` takes several times as long."""
OPENED = 4
"""Weeks that the shop had sold before the first model was trained."""
WARM_SHARE = 4
"""`warm` has a fourth of a fresh model's epochs each week, at half of its learning rate."""


@dataclass
class Shop:
    """Groups of items that follow each other; a user buys in the group that follows the last one, or stays in it."""

    draw: np.random.Generator
    n_users: int
    n_groups: int = 40
    born: list[int] = field(default_factory=list)
    group: list[int] = field(default_factory=list)
    events: list[tuple[str, str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.follows = self.draw.permutation(self.n_groups)
        self.at = self.draw.integers(self.n_groups, size=self.n_users)
        self.appeal: list[float] = []

    def open(self, week: int, n_new: int) -> None:
        """New items come; from the second week on, one group in eight is followed by another one than before."""
        for _ in range(n_new):
            self.born.append(week)
            self.group.append(int(self.draw.integers(self.n_groups)))
            self.appeal.append(float(self.draw.exponential()) + 0.1)
        if week:
            some = self.draw.choice(self.n_groups, self.n_groups // 8, replace=False)
            self.follows[some] = self.follows[self.draw.permutation(some)]

    def sell(self, week: int) -> None:
        """Two users of three come, each for two to four items."""
        weights = self._weights(week)
        for user in np.flatnonzero(self.draw.random(self.n_users) < 2 / 3):
            for step in range(int(self.draw.integers(2, 5))):
                moves = self.draw.random() < 0.8
                self.at[user] = self.follows[self.at[user]] if moves else self.draw.integers(self.n_groups)
                item = self._pick(weights, int(self.at[user]))
                self.events.append((f"u{user}", f"i{item}", week * WEEK + user * 8 + step))

    def _weights(self, week: int) -> NDArray[np.float64]:
        """News are bought most; what is older than a month is half forgotten each further week."""
        age = week - np.array(self.born)
        return np.array(self.appeal) * np.where(age == 0, 2.0, 0.5 ** np.maximum(age - 4, 0))

    def _pick(self, weights: NDArray[np.float64], group: int) -> int:
        inside = np.flatnonzero(np.array(self.group) == group)
        share = weights[inside] / weights[inside].sum()
        return int(inside[np.searchsorted(np.cumsum(share), self.draw.random())])

    def items(self) -> pl.DataFrame:
        titles = [
            f"{MATERIALS[group % 10]} {THINGS[group // 4]} number {number}" for number, group in enumerate(self.group)
        ]
        return pl.DataFrame({"item_id": [f"i{number}" for number in range(len(titles))], "title": titles})

    def data(self) -> Dataset:
        """All that happened so far."""
        events = pl.DataFrame(self.events, schema=["user_id", "item_id", "timestamp"], orient="row")
        return sidrec.read_dataset(events, self.items(), keep_unused_items=True)


@dataclass(frozen=True)
class Judged:
    """One model of one week on the week that followed."""

    week: int
    way: str
    recall: float
    seconds: float
    unknown: int


def weeks(n_weeks: int, n_users: int, seed: int) -> Iterator[Dataset]:
    """What the shop knows at the end of every week, one more than asked for: the last one is only judged on."""
    shop = Shop(np.random.default_rng(seed), n_users)
    for week in range(OPENED + n_weeks):
        shop.open(week, 400 if week == 0 else 32)
        shop.sell(week)
        if week >= OPENED - 1:
            yield shop.data()


def follow(key: str, datasets: list[Dataset], seed: int) -> Iterator[Judged]:
    """Three ways through the weeks."""
    first = fresh_model(key, seed).fit(datasets[0], progress=False)
    frozen, warm = copy.copy(first), first  # two catalogues from here on
    for week, (data, following) in enumerate(pairwise(datasets)):
        new = data.catalog.frame.filter(~pl.col("item_id").is_in(frozen.catalog.item_ids.implode()))
        if new.height and isinstance(frozen, AddsItems):
            frozen.add_items(new)
        began = time.process_time()
        if week:
            warm = warm.successor(training=gently(MODELS[key]["training"])).fit(data, progress=False)
        warmed = time.process_time()
        fresh = fresh_model(key, seed).fit(data, progress=False) if week else first
        times = {"frozen": 0.0, "warm": warmed - began, "fresh": time.process_time() - warmed}
        for way, model in (("frozen", frozen), ("warm", warm), ("fresh", fresh)):
            yield judged(model, data, following, Judged(week + 1, way, 0.0, times[way], 0))


def gently(training: dict[str, Any]) -> dict[str, Any]:
    return {"epochs": training["epochs"] // WARM_SHARE, "learning_rate": training["learning_rate"] / 2}


def fresh_model(key: str, seed: int) -> Recommender:
    values = MODELS[key]
    return sidrec.model(key, **{**values, "training": {**values["training"], "seed": seed}})


def judged(model: Recommender, data: Dataset, following: Dataset, so_far: Judged) -> Judged:
    """By the last items of users who came back in the week that follows."""
    result = sidrec.evaluate(model, following, trained_on=data, ks=(10,))
    assert data.timestamps is not None and following.timestamps is not None
    came = following.timestamps[following.sequences.offsets[1:] - 1] > data.timestamps.max()
    ranks = result.ranks.filter(pl.col("user_id").is_in(following.user_ids.filter(pl.Series(came)).implode()))
    hits = ranks["rank"].is_between(0, 9)
    known = model.catalog.index_of(ranks["target"].to_list()) >= 0
    return Judged(so_far.week, so_far.way, float(hits.mean() or 0.0), so_far.seconds, int((~known).sum()))


def table(found: dict[str, list[Judged]], datasets: list[Dataset]) -> str:
    """Markdown: a row per week, the three ways of every model beside each other."""
    ways = ("frozen", "warm", "fresh")
    lines = ["| week | items | new | " + " | ".join(f"{key} {way}" for key in found for way in ways) + " |"]
    lines.append("|" + "---:|" * (3 + 3 * len(found)))
    for week, data in enumerate(datasets[:-1], 1):
        before = datasets[week - 2].n_items if week > 1 else 0
        cells = [f"{one.recall:.3f}" for key in found for way in ways for one in found[key] if at(one, week, way)]
        lines.append(f"| {week} | {data.n_items} | {data.n_items - before} | " + " | ".join(cells) + " |")
    last = [f"{mean(found[key], way):.3f}" for key in found for way in ways]
    spent = [f"{seconds(found[key], way):.0f}" for key in found for way in ways]
    lines.append(f"| 2 to {len(datasets) - 1}, mean | | | " + " | ".join(last) + " |")
    lines.append("| seconds a week | | | " + " | ".join(spent) + " |")
    return "\n".join(lines)


def at(one: Judged, week: int, way: str) -> bool:
    return (one.week, one.way) == (week, way)


def mean(rows: list[Judged], way: str) -> float:
    return float(np.mean([row.recall for row in rows if row.way == way and row.week > 1]))


def seconds(rows: list[Judged], way: str) -> float:
    return float(np.mean([row.seconds for row in rows if row.way == way and row.week > 1]))


def kept_rows(key: str, datasets: list[Dataset], seed: int, file: Path | None) -> list[Judged]:
    """A model's figures, from its file or made now."""
    if file is not None and file.is_file():
        return [Judged(**row) for row in json.loads(file.read_text(encoding="utf-8"))]
    rows = []
    for one in follow(key, datasets, seed):
        rows.append(one)
        figures = f"recall@10 {one.recall:.3f}, {one.seconds:.1f} s, {one.unknown} unknown targets"
        print(f"{key} week {one.week} {one.way}: {figures}", file=sys.stderr)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="A made-up shop over some weeks.")
    parser.add_argument("--weeks", type=int, default=8)
    parser.add_argument("--users", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", action="append", choices=list(MODELS), help="may be given several times")
    parser.add_argument("--rows", type=Path, help="a folder where the figures of every model are kept")
    parser.add_argument("--page", type=Path, help="a page whose marked part becomes the table")
    asked = parser.parse_args()
    began = time.monotonic()
    datasets = list(weeks(asked.weeks, asked.users, asked.seed))
    found: dict[str, list[Judged]] = {}
    for key in asked.model or SHOWN:
        name = f"{key}-{asked.weeks}-{asked.users}-{asked.seed}.json"
        found[key] = kept_rows(key, datasets, asked.seed, None if asked.rows is None else asked.rows / name)
    text = table(found, datasets)
    print(text)
    print(f"{time.monotonic() - began:.0f} s in all", file=sys.stderr)
    if asked.page is not None:
        put(asked.page, text)


def put(page: Path, text: str) -> None:
    """Between the two marks of the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(MARK)
    page.write_text(f"{before}{MARK}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
