"""What Ray costs and what a second worker brings: batch recommending and training, also with a worker killed.

    python benchmarks/ray_scale.py [--users 200000] [--items 4000] [--epochs 4]

One llada-rec-plus of a made-up shop, one processor per worker, Ray on this machine. Start-up is left out on both sides:
batch rates count the users after the first quarter (until then every actor has its model), training rates are those of
the epochs after the first. Every batch is compared byte by byte with the local way, every training epoch by epoch with
one process (without dropout, whose draws belong to a process). The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import psutil
import torch

from sidrec.cluster.batch import Actors
from sidrec.cluster.session import ray_session
from sidrec.cluster.training import Crew, Work, train_on_ray
from sidrec.core.progress import SilentProgress
from sidrec.data.synthetic import demo_shop
from sidrec.models.registry import load_model
from sidrec.pipeline.recipes import Recipe
from sidrec.pipeline.recommend_files import Filling, placed, recommend_files
from sidrec.pipeline.train import train

FILES, LONGEST = 4, 20
BARS = {"ray_overhead_1": 0.15, "batch_speedup_2": 1.7, "train_loss_max_diff": 1e-5}


class Timed(SilentProgress):
    """When how many users were done."""

    def __init__(self, when_a_third: Callable[[], None] | None = None, total: int = 0) -> None:
        self.points: list[tuple[float, int]] = []
        self._total, self._then = total, when_a_third

    @contextmanager
    def task(self, name: str, total: int | None = None) -> Iterator[Timed]:  # noqa: ARG002
        yield self

    def advance(self, amount: int = 1, **figures: float | str) -> None:  # noqa: ARG002
        done = amount + (self.points[-1][1] if self.points else 0)
        self.points.append((time.perf_counter(), done))
        if self._then is not None and done * 3 >= self._total:
            then, self._then = self._then, None
            then()

    def rate(self) -> float:
        """Users per second after the first quarter."""
        end, total = self.points[-1]
        begin, before = next(point for point in self.points if point[1] * 4 >= total)
        return (total - before) / (end - begin)


def kill_one(kind: str) -> None:
    """The first worker of this kind that Ray started for us."""
    for process in psutil.Process().children(recursive=True):
        if kind in " ".join(process.cmdline()):
            process.kill()
            return
    raise SystemExit(f"there is no {kind} to kill.")


def recipe(epochs: int) -> Recipe:
    # many users in a step: two workers send around the gradients of a step, whatever its size
    options = {"epochs": epochs, "batch_size": 2048, "min_steps": 1, "validate_every": epochs, "checkpoint_seconds": 1}
    values = {"d_model": 64, "dropout": 0.0, "embedding": {"encoder": "tfidf"}, "training": options}
    return Recipe("llada-rec-plus", values, "benchmark")


def write_users(folder: Path, item_ids: list[str], n_users: int) -> None:
    draw = np.random.default_rng(0)
    folder.mkdir()
    for number, users in enumerate(np.array_split(np.arange(n_users), FILES)):
        lengths = draw.integers(1, LONGEST, len(users))
        rows = [[item_ids[item] for item in draw.integers(len(item_ids), size=length)] for length in lengths]
        frame = pl.DataFrame({"user_id": [f"u{user}" for user in users], "history": rows})
        frame.write_parquet(folder / f"{number}.parquet")


class Batches:
    """The same users, recommended to in several ways."""

    def __init__(self, home: Path, n_users: int) -> None:
        self.home, self.n_users = home, n_users
        self.model = load_model(home / "model")

    def run(self, name: str, workers: int = 0, *, kill: bool = False) -> tuple[float, str]:
        """Users per second, and a hash of all output files."""
        filling: tuple[Filling, int] | None = None
        if workers:
            filling = Actors(workers).filling(partial(load_model, self.home / "model"))
        watch = Timed(partial(kill_one, "MapWorker") if kill else None, self.n_users)
        places = placed([str(self.home / "users")], self.home / name)
        recommend_files(self.model, places, k=10, exclude_seen=True, progress=watch, filling=filling)
        digest = hashlib.sha256(b"".join(output.read_bytes() for _, output in places)).hexdigest()
        return watch.rate(), digest


def history(model: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (model / "history.jsonl").read_text().splitlines()]


def samples_per_second(model: Path) -> float:
    return median(epoch["samples_per_second"] for epoch in history(model)[1:])


def largest_difference(model: Path, other: Path) -> float:
    pairs = zip(history(model), history(other), strict=True)
    return max(abs(one["loss"] - two["loss"]) for one, two in pairs)


def train_killed(work: Work) -> None:
    """Two workers, of which one dies after the first checkpoint."""
    killed = threading.Thread(target=_kill_when_saved, args=(work.out,), daemon=True)
    killed.start()
    train_on_ray(work, Crew(2))
    killed.join(timeout=1)
    if killed.is_alive():
        raise SystemExit("the training ended before a worker could be killed; give more --epochs.")


def _kill_when_saved(out: Path) -> None:
    while not list(out.parent.glob(f".{out.name}.work-*/**/state.json")):
        time.sleep(0.05)
    kill_one("RayTrainWorker")


def measure_batches(home: Path, n_users: int) -> dict[str, Any]:
    batches, rates, hashes = Batches(home, n_users), [], []
    for words, workers, kill in (
        ("local", 0, False),
        ("Ray, 1 actor", 1, False),
        ("Ray, 2 actors", 2, False),
        ("Ray, 2 actors, one killed", 2, True),
    ):
        rate, digest = batches.run(words, workers, kill=kill)
        show(f"batch, {words}", rate, digest[:12])
        rates.append(rate)
        hashes.append(digest)
    return {
        "batch_speedup_2": rates[2] / rates[1],
        "ray_overhead_1": rates[0] / rates[1] - 1,
        "batch_identical": len(set(hashes[:3])) == 1,
        "killed_batch_identical": hashes[3] == hashes[0],
    }


def measure_training(home: Path, epochs: int) -> dict[str, Any]:
    chosen = recipe(epochs)
    ways: dict[str, Callable[[Path], object]] = {
        "one process": lambda out: train(home / "data", out, chosen),
        "Ray, 2 workers": lambda out: train_on_ray(Work(home / "data", out, chosen), Crew(2)),
        "Ray, 2 workers, one killed": lambda out: train_killed(Work(home / "data", out, chosen)),
    }
    outs, differences = [], []
    for number, (words, way) in enumerate(ways.items()):
        outs.append(home / f"trained{number}")
        way(outs[-1])
        differences.append(largest_difference(outs[0], outs[-1]))
        show(f"training, {words}", samples_per_second(outs[-1]), f"loss differs by {differences[-1]:.1e} at most")
    return {
        "train_loss_max_diff": max(differences),
        "train_speedup_2": samples_per_second(outs[1]) / samples_per_second(outs[0]),
        "killed_train_identical": largest_difference(outs[1], outs[2]) == 0.0,
    }


def show(name: str, rate: float, note: str) -> None:
    print(f"{name:40s} {rate:12,.0f} per second  {note}", flush=True)


def sum_up(found: dict[str, Any]) -> None:
    found["killed_worker_identical"] = found.pop("killed_batch_identical") and found.pop("killed_train_identical")
    for name, bar in BARS.items():
        holds = found[name] >= bar if name == "batch_speedup_2" else found[name] <= bar
        print(f"{name}: {found[name]:.3g}, bar {bar:g}: {'holds' if holds else 'FALLS SHORT'}")
    print(json.dumps({name: round(value, 8) if isinstance(value, float) else value for name, value in found.items()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=200_000)
    parser.add_argument("--items", type=int, default=4_000)
    parser.add_argument("--training-users", type=int, default=12_000)
    parser.add_argument("--epochs", type=int, default=6)
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # Ray's workers inherit it
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, ray_session(num_cpus=2):
        home = Path(folder)
        shop = demo_shop(n_items=asked.items, n_users=asked.training_users, seed=0)
        shop.save(home / "data")
        train(home / "data", home / "model", recipe(1))
        write_users(home / "users", shop.catalog.item_ids.to_list(), asked.users)
        found = measure_batches(home, asked.users) | measure_training(home, asked.epochs)
    sum_up(found)


if __name__ == "__main__":
    main()
