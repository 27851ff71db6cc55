"""Run a benchmark plan on two machines of a cluster (both this one), lose one half way, and compare with a run here.

    python tools/lose_a_machine.py recipes/experiments/smoke.toml --here runs/smoke --out runs/smoke-on-ray

`--here` is the local run of the same plan; it is made where it is not there. Timings apart, every record and every
user's rank must be the same. The last line is one JSON object; the exit code says whether all held.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from sidrec.cluster.experiments import on_ray
from sidrec.cluster.session import import_ray
from sidrec.core.progress import SilentProgress
from sidrec.evaluation.results import Evaluation
from sidrec.pipeline.benchmark.plan import read_plan
from sidrec.pipeline.benchmark.records import CellRecord
from sidrec.pipeline.benchmark.runner import BenchmarkResult, benchmark


class Losing(SilentProgress):
    """Loses a machine when half of the cells are through, in the middle of the others."""

    def __init__(self, cells: int, cluster: object, machine: object) -> None:
        self._left, self._cluster, self._machine = cells // 2, cluster, machine

    def note(self, text: str) -> None:
        print(text, flush=True)
        self._left -= text.startswith("[")
        if self._left == 0:
            self._left = -1
            print("a machine is lost", flush=True)
            self._cluster.remove_node(self._machine, allow_graceful=False)

    @property
    def lost(self) -> bool:
        return self._left < 0


def plain(record: CellRecord) -> CellRecord:
    """Without what the clock says, and whether it was there already."""
    training = {name: value for name, value in record.training.items() if "seconds" not in name}
    status = "done" if record.status == "skipped" else record.status
    return replace(record, training=training, judging_seconds=0.0, users_per_s=0.0, status=status)


def different(here: BenchmarkResult, there: BenchmarkResult) -> list[str]:
    """The cells that are not the same."""
    found = []
    for one, other in zip(here.records, there.records, strict=True):
        ranks = [Evaluation.load(run.out / record.test).ranks for run, record in ((here, one), (there, other))]
        if plain(one) != plain(other) or not ranks[0].equals(ranks[1]):
            found.append(one.name)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--here", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    plan = read_plan(options.plan)
    here = benchmark(plan, options.here)
    ray = import_ray()
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    losing = Losing(len(here.records), cluster, cluster.add_node(num_cpus=1))
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        there = benchmark(plan, options.out, engage=on_ray(), progress=losing)
    finally:
        ray.shutdown()
        cluster.shutdown()
    unlike = different(here, there)
    figures = {"cells": len(there.records), "failed": len(there.failed), "lost": losing.lost, "different": len(unlike)}
    for name in unlike:
        print(f"not the same: {name}")
    print(json.dumps({**figures, "seconds_here": round(here.seconds), "seconds_there": round(there.seconds)}))
    return 0 if losing.lost and not unlike and not there.failed else 1


if __name__ == "__main__":
    sys.exit(main())
