"""How fast and how lean `sidrec data prepare` is: 20 million interactions, and 2 million against plain pandas.

    python benchmarks/prepare.py [--rows 20000000] [--compare-rows 2000000]

Every measured step runs in a process of its own; its peak memory is what the operating system counted. `seconds` are
those of the steps alone, `process` adds the start of Python and the imports (of sidrec or of pandas). The last line is
one JSON object: rows_per_s and peak_gib of the large run, ratio_vs_pandas (of the steps) of the small one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

K_CORE = 5
_BATCH = 2_000_000
_GIB = 1024**3


def write_interactions(path: Path, rows: int, seed: int = 0) -> None:
    """A CSV like a shop's log: long-tailed users and items, 28-letter user ids, times in milliseconds, no order."""
    rng = np.random.default_rng(seed)
    n_users, n_items = max(rows // 6, 10), max(rows // 25, 10)
    with path.open("wb") as file:
        for start in range(0, rows, _BATCH):
            count = min(_BATCH, rows - start)
            users = (n_users * rng.random(count) ** 1.7).astype(np.int64)
            items = (n_items * rng.random(count) ** 3).astype(np.int64)
            frame = pl.DataFrame(
                {"u": users, "i": items, "t": rng.integers(1_400_000_000_000, 1_700_000_000_000, count)}
            ).select(
                user_id=pl.format("AE{}BBOVZIF42YOOPNBX", pl.col("u").cast(pl.String).str.zfill(10)),
                item_id=pl.format("B{}", pl.col("i").cast(pl.String).str.zfill(9)),
                timestamp=pl.col("t"),
            )
            frame.write_csv(file, include_header=start == 0)


def prepare_with_pandas(source: Path, out: Path) -> dict[str, float]:
    """The same steps as a data scientist writes them: read, drop repeats, 5-core, time order, split, save."""
    import pandas as pd
    import pyarrow.parquet  # noqa: F401  pandas would import it inside the measured time

    start = time.perf_counter()
    out.mkdir()
    rows = pd.read_csv(source, dtype={"user_id": str, "item_id": str})
    rows = rows.drop_duplicates(["user_id", "item_id", "timestamp"])
    while True:
        per_user = rows.groupby("user_id")["item_id"].transform("size")
        per_item = rows.groupby("item_id")["user_id"].transform("size")
        kept = rows[(per_user >= K_CORE) & (per_item >= K_CORE)]
        if len(kept) == len(rows):
            break
        rows = kept
    rows = rows.sort_values(["user_id", "timestamp"], kind="stable")
    rows["item"], item_ids = pd.factorize(rows["item_id"])
    users = rows.groupby("user_id", sort=False).size().rename("length").reset_index()
    users["train_end"], users["validation_end"] = users["length"] - 2, users["length"] - 1
    pd.DataFrame({"item_id": item_ids}).to_parquet(out / "catalog.parquet")
    users.to_parquet(out / "users.parquet")
    rows[["item", "timestamp"]].to_parquet(out / "events.parquet")
    seconds = time.perf_counter() - start
    return {"users": len(users), "items": len(item_ids), "interactions": len(rows), "seconds": seconds}


def prepare_with_sidrec(source: Path, out: Path) -> dict[str, float]:
    """The command itself, in this process so that its memory is this process's."""
    from sidrec.data.build_dataset import PrepareSettings
    from sidrec.data.prepare import find_source, prepare

    start = time.perf_counter()
    done = prepare(find_source(source), out, PrepareSettings(k_core=K_CORE))
    seconds = time.perf_counter() - start
    return {name: done.statistics[name] for name in ("users", "items", "interactions")} | {"seconds": seconds}


@dataclass(frozen=True)
class Run:
    """One measured process."""

    seconds: float
    process: float
    peak_gib: float
    counts: dict[str, int]


def measure(how: str, source: Path, out: Path) -> Run:
    """Run one way of preparing in a fresh process."""
    start = time.perf_counter()
    command = [sys.executable, __file__, "--step", how, "--source", str(source), "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{how} failed with exit code {process.returncode}")
    counts = json.loads(printed.splitlines()[-1])
    return Run(counts.pop("seconds"), time.perf_counter() - start, usage.ru_maxrss * 1024 / _GIB, counts)


def compare(folder: Path, rows: int, repeats: int = 3) -> float:
    """How many times faster than pandas, best of a few runs each; both must find the same core."""
    source = folder / "interactions-small.csv"
    write_interactions(source, rows, seed=1)
    best: dict[str, Run] = {}
    for turn in range(repeats):
        for how in ("sidrec", "pandas"):
            run = measure(how, source, folder / f"{how}-{turn}")
            best[how] = min(best.get(how, run), run, key=lambda one: one.seconds)
    if best["sidrec"].counts != best["pandas"].counts:
        raise SystemExit(f"the two disagree: {best['sidrec'].counts} and {best['pandas'].counts}")
    for how, run in best.items():
        _line(how, rows, run)
    source.unlink()
    return best["pandas"].seconds / best["sidrec"].seconds


def _line(how: str, rows: int, run: Run) -> None:
    kept = run.counts["interactions"]
    speed = rows / run.seconds
    print(
        f"{how:8} {rows:>12,} {run.seconds:>9.2f} {run.process:>9.2f} {speed:>12,.0f} {run.peak_gib:>9.2f} {kept:>12,}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--compare-rows", type=int, default=2_000_000)
    parser.add_argument("--step", choices=("sidrec", "pandas"), help=argparse.SUPPRESS)
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step = prepare_with_sidrec if options.step == "sidrec" else prepare_with_pandas
        print(json.dumps(step(options.source, options.out)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'how':8} {'rows':>12} {'seconds':>9} {'process':>9} {'rows/s':>12} {'peak GiB':>9} {'kept':>12}")
        ratio = compare(folder, options.compare_rows)
        source = folder / "interactions.csv"
        write_interactions(source, options.rows)
        large = measure("sidrec", source, folder / "large")
        _line("sidrec", options.rows, large)
    result = {
        "rows_per_s": round(options.rows / large.seconds),
        "peak_gib": round(large.peak_gib, 3),
        "ratio_vs_pandas": round(ratio, 2),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
