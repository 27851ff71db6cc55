"""How each stage grows with the data: 1, 2, 4 and 8 times as much, and one worker against two.

    OMP_NUM_THREADS=1 python benchmarks/growth.py [--sizes 1 2 4 8]

Every size runs in a process of its own, with one thread. CPU seconds count, not the clock: a busy machine changes them
little. `grows` is the slope between logarithms: 1 means twice the data, twice the work. The last line is one JSON
object: for each stage its units, seconds per million units at the largest size, growth, bytes per unit and what it
comes to for 100 M users, 50 M items and 10 G interactions on one core of this machine.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from prepare import write_interactions

TARGET = {"interactions": 10_000_000_000, "items": 50_000_000, "users": 100_000_000}
UNITS = {
    "prepare": "interactions",
    "embed (MiniLM)": "items",
    "embed (TF-IDF)": "items",
    "tokenize (RQ k-means)": "items",
    "train, one epoch": "interactions",
    "recommend": "users",
}
_ROWS, _ITEMS, _USERS, _TEXTS, _ASKED = 250_000, 1_000, 400, 40, 60
MODEL: dict[str, Any] = {"d_model": 64, "n_heads": 2, "n_layers": 2, "search": {"beam_size": 20}}
IDS: dict[str, Any] = {"tokenizer": "rq-kmeans", "n_codes": 4, "codebook_size": 256, "pca": 64}


def measured(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and its CPU seconds."""
    start = time.process_time()
    return work(), time.process_time() - start


def one_size(size: int, folder: Path) -> dict[str, dict[str, float]]:
    """Every stage on so many times the data."""
    import warnings

    import sidrec
    from sidrec.core.notices import SidrecWarning
    from sidrec.data.build_dataset import PrepareSettings
    from sidrec.data.prepare import find_source, prepare

    warnings.simplefilter("ignore", SidrecWarning)
    found: dict[str, dict[str, float]] = {}

    def note(stage: str, units: int, seconds: float, out: Path | None = None) -> None:
        found[stage] = {"units": units, "cpu_s": seconds, "bytes": _bytes(out) if out else 0}

    write_interactions(folder / "log.csv", _ROWS * size)
    source = find_source(None, folder / "log.csv")
    _, seconds = measured(lambda: prepare(source, folder / "log", PrepareSettings(k_core=5)))
    note("prepare", _ROWS * size, seconds, folder / "log")
    sidrec.demo_shop(n_items=_ITEMS * size, n_users=_USERS * size).save(folder / "data")
    shop = sidrec.Dataset.load(folder / "data")
    some = sidrec.demo_shop(n_items=_TEXTS * size, n_users=50)
    sidrec.embed(sidrec.demo_shop(n_items=40, n_users=50), encoder="minilm")  # the weights are read once
    note("embed (MiniLM)", _TEXTS * size, measured(lambda: sidrec.embed(some, encoder="minilm"))[1])
    vectors, seconds = measured(lambda: sidrec.embed(shop, encoder="tfidf", out=folder / "emb"))
    note("embed (TF-IDF)", shop.n_items, seconds, folder / "emb")
    _, seconds = measured(lambda: sidrec.tokenize(vectors, out=folder / "ids", **IDS))
    note("tokenize (RQ k-means)", shop.n_items, seconds, folder / "ids")
    model = sidrec.LLaDARec(**MODEL, training={"epochs": 1, "batch_size": 256, "metric": None})
    model.use_semantic_ids(folder / "ids", shop)
    _, seconds = measured(lambda: model.fit(shop, out=folder / "model"))
    pairs = int(shop.train_sequences().lengths.sum()) - shop.n_users
    note("train, one epoch", pairs, seconds, folder / "model")
    users = pl.DataFrame({"user_id": shop.user_ids[: _ASKED * size]})
    users.write_parquet(folder / "users.parquet")
    loaded = sidrec.load(folder / "model")
    recs = folder / "recs.parquet"
    _, seconds = measured(lambda: sidrec.recommend_many(loaded, folder / "users.parquet", recs, k=10))
    note("recommend", users.height, seconds, recs)
    found["memory"] = {"peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2}
    return found


def part_of_users(folder: Path, part: int, parts: int) -> None:
    """One worker's share of a batch job, as Ray gives it."""
    import sidrec

    users = pl.read_parquet(folder / "users.parquet")
    share = users.gather_every(parts, part)
    share.write_parquet(folder / f"users-{part}-{parts}.parquet")
    model = sidrec.load(folder / "model")
    start = time.perf_counter()
    sidrec.recommend_many(model, folder / f"users-{part}-{parts}.parquet", folder / f"r-{part}-{parts}.parquet", k=10)
    print(json.dumps({"wall_s": time.perf_counter() - start, "cpu_s": time.process_time()}))


def workers(folder: Path) -> dict[str, float]:
    """Seconds of the slowest of one and of two workers on the same users."""
    slowest: dict[str, float] = {}
    for parts in (1, 2):
        words = [
            [sys.executable, __file__, "--part", f"{part}/{parts}", "--folder", str(folder)] for part in range(parts)
        ]
        running = [subprocess.Popen(word, stdout=subprocess.PIPE, text=True) for word in words]
        answers = [json.loads(process.communicate()[0].splitlines()[-1]) for process in running]
        slowest[f"{parts}"] = max(float(answer["wall_s"]) for answer in answers)
    return slowest


def _bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else sum(f.stat().st_size for f in path.rglob("*") if f.is_file())


def summary(runs: dict[int, dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Per stage: growth, cost of a million units at the largest size, and the whole for the target."""
    small, large = runs[min(runs)], runs[max(runs)]
    found = {}
    for stage, unit in UNITS.items():
        first, last = small[stage], large[stage]
        steps = math.log(last["units"] / first["units"]) if last["units"] != first["units"] else 1.0
        per_million = last["cpu_s"] / last["units"] * 1e6
        found[stage] = {
            "cpu_s_per_million": round(per_million, 2),
            "grows": round(math.log(max(last["cpu_s"], 1e-9) / max(first["cpu_s"], 1e-9)) / steps, 2),
            "bytes_per_unit": round(last["bytes"] / last["units"], 1),
            "core_hours_at_target": round(per_million * TARGET[unit] / 1e6 / 3600, 1),
        }
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 4, 8])
    arguments.add_argument("--one", type=int)
    arguments.add_argument("--part")
    arguments.add_argument("--folder", type=Path)
    chosen = arguments.parse_args()
    if chosen.part:
        part, parts = map(int, chosen.part.split("/"))
        part_of_users(chosen.folder, part, parts)
    elif chosen.one:
        print(json.dumps(one_size(chosen.one, chosen.folder)))
    else:
        _show(sorted(chosen.sizes))


def _show(sizes: list[int]) -> None:
    runs: dict[int, dict[str, dict[str, float]]] = {}
    shared: dict[str, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            words = [sys.executable, __file__, "--one", str(size), "--folder", name]
            done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
            runs[size] = json.loads(done.stdout.splitlines()[-1])
            for stage, facts in runs[size].items():
                told = ", ".join(f"{key} {value:,.2f}" for key, value in facts.items())
                print(f"{size}x {stage}: {told}", flush=True)
            if size == sizes[-1]:
                shared = workers(Path(name))
    found = summary(runs)
    print(f"\n{'stage':24}{'CPU s per million':>20}{'grows':>8}{'bytes each':>12}{'core hours at target':>24}")
    for stage, facts in found.items():
        figures = f"{facts['cpu_s_per_million']:>20,.1f}{facts['grows']:>8.2f}{facts['bytes_per_unit']:>12,.0f}"
        print(f"{stage:24}{figures}{facts['core_hours_at_target']:>24,.0f}   per {UNITS[stage][:-1]}")
    speedup = shared["1"] / shared["2"]
    print(f"recommend by two workers: {shared['1']:.1f} s -> {shared['2']:.1f} s, {speedup:.2f} times as fast")
    memory = {str(size): round(run["memory"]["peak_gib"], 2) for size, run in runs.items()}
    whole = {"stages": found, "recommend_workers_s": shared, "target": TARGET, "peak_gib": memory}
    print(json.dumps(whole))


if __name__ == "__main__":
    main()
