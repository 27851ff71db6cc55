"""Our `sasrec-ce` against RecTools' SASRec with softmax loss: equal size, equal split, both in one run.

RecTools needs NumPy 1, so it runs as a subprocess in an environment of its own, made on the first run in
~/.cache/sidrec-bench (or $SIDREC_BENCH_CACHE). Real data are used where they stand beside the checkout, else the demo
shop. `--accuracy` trains both long enough for their accuracies to mean something (about ten minutes).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sidrec import read_dataset
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories
from sidrec.data.synthetic import demo_shop
from sidrec.models.request import Request
from sidrec.models.sasrec import SASRecSoftmax

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data" / "amazon2018-scientific"
CACHE = Path(os.environ.get("SIDREC_BENCH_CACHE", "~/.cache/sidrec-bench")).expanduser()
REQUIREMENTS = ("rectools[torch]==0.19.0", "numpy<2", "torch==2.13.0")
SIZE = {"d_model": 128, "n_layers": 2, "n_heads": 4, "dropout": 0.2, "max_history": 20}
K, ROUNDS = 10, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3, help="epochs to time")
    parser.add_argument("--accuracy", action="store_true", help="train 20 epochs each and compare accuracies")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    python = rectools_python()
    torch.set_num_threads(given.threads)
    data, name = dataset()
    epochs = 20 if given.accuracy else given.epochs
    run = {"epochs": epochs, "batch_size": given.batch_size, "learning_rate": 1e-3, "seed": 0}
    ours = measure_ours(data, run)
    theirs = measure_rectools(python, data, {**SIZE, **run, "threads": given.threads})
    if not given.accuracy:  # a turn on either side of RecTools', so that a busy minute does not decide
        again = measure_ours(data, run)
        ours["epoch_seconds"] += again["epoch_seconds"]
        ours["recommend_seconds"] += again["recommend_seconds"]
    report(name, data, ours, theirs, epochs)


def rectools_python() -> Path:
    """The interpreter of RecTools' own environment, which is made where it is missing or half made."""
    home = CACHE / "rectools"
    python, stamp = home / "bin" / "python", home / ".ready"
    wanted = " ".join(REQUIREMENTS)
    if not (stamp.is_file() and stamp.read_text() == wanted):
        print(f"making an environment for RecTools in {home}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        stamp.write_text(wanted)
    return python


def dataset() -> tuple[Dataset, str]:
    if not SHARED.is_dir():
        return demo_shop(), "demo shop"
    return read_dataset(SHARED), SHARED.name


def measure_ours(data: Dataset, run: dict[str, Any]) -> dict[str, Any]:
    """As many epochs as RecTools', none of them validated; recommending is from item ids to item ids on both sides."""
    training = {**run, "metric": None, "validate_every": run["epochs"] + 1}
    with tempfile.TemporaryDirectory() as folder:
        model = SASRecSoftmax(**SIZE, validation_users=1, training=training).fit(data, out=Path(folder) / "model")
        epochs = [json.loads(line) for line in (Path(folder) / "model" / "history.jsonl").read_text().splitlines()]
    cases, ids = data.cases("test"), data.catalog.item_ids.to_list()
    asked = [[ids[item] for item in history] for history in cases.histories]
    users, seconds = int((data.train_sequences().lengths > 1).sum()), []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        model.recommend(asked, k=K)
        seconds.append(time.perf_counter() - began)
    return {
        "epoch_seconds": [users / epoch["samples_per_second"] for epoch in epochs],
        "recommend_seconds": seconds,
        "ranked": model.rank(Request(cases.histories, K)).items,
        "versions": {"torch": torch.__version__, "numpy": np.__version__},
    }


def measure_rectools(python: Path, data: Dataset, options: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        split = Path(folder) / "split.npz"
        cases, train = data.cases("test"), data.train_sequences()
        np.savez(
            split,
            train_users=users_of(train),
            train_items=train.items,
            history_users=users_of(cases.histories),
            history_items=cases.histories.items,
            targets=cases.targets,
        )
        command = [
            str(part)
            for part in (python, ROOT / "benchmarks" / "workers" / "rectools_sasrec.py", split, json.dumps(options))
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": str(options["threads"])}
        done = subprocess.run(command, check=True, text=True, env=environment, stdout=subprocess.PIPE)
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return {**found, "ranked": np.load(split.with_suffix(".ranked.npy"))}


def users_of(histories: Histories) -> np.ndarray:
    return np.repeat(np.arange(len(histories)), histories.lengths)


def accuracy(ranked: np.ndarray, targets: np.ndarray) -> tuple[float, float]:
    """Recall@10 and NDCG@10, no seen-item filter."""
    hits = ranked == targets[:, None]
    return float(hits.any(1).mean()), float((hits / np.log2(np.arange(2, K + 2))).sum(1).mean())


def report(name: str, data: Dataset, ours: dict[str, Any], theirs: dict[str, Any], epochs: int) -> None:
    """Medians, because the machine may be busy."""
    targets = data.cases("test").targets
    print(f"{name}: {data.n_users} users, {data.n_items} items; {SIZE}, {epochs} epochs, no seen-item filter")
    print(f"{'':10} {'training users/s':>17} {'top-10 users/s':>15} {'Recall@10':>10} {'NDCG@10':>8}")
    rates, figures = {}, {}
    for who, found in (("ours", ours), ("rectools", theirs)):
        train = data.n_users / statistics.median(found["epoch_seconds"])
        top = len(targets) / statistics.median(found["recommend_seconds"])
        rates[who] = (train, top)
        figures[who] = accuracy(found["ranked"], targets)
        print(f"{who:10} {train:17.0f} {top:15.0f} {figures[who][0]:10.4f} {figures[who][1]:8.4f}")
    summary = {
        "sasrec_ratio_vs_rectools": round(rates["ours"][0] / rates["rectools"][0], 2),
        "topk_ratio_vs_rectools": round(rates["ours"][1] / rates["rectools"][1], 2),
        "epochs": epochs,
        "recall@10": {who: round(pair[0], 4) for who, pair in figures.items()},
        "ndcg@10": {who: round(pair[1], 4) for who, pair in figures.items()},
        "versions": {"ours": ours["versions"], "rectools": theirs["versions"]},
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
