"""Hours until a job is finished on N machines that fail, straggle and keep checkpoints: a small simulation.

    python benchmarks/scale_simulation.py [--core-hours 10000] [--runs 50]

Two kinds of work. Batch: independent tasks; a machine that dies takes its task with it, which another one begins anew.
Training: all machines step together, so each step lasts as long as its slowest machine, and a death throws everybody
back to the last checkpoint. The last line is one JSON object with the mean hours of every row.
"""

from __future__ import annotations

import argparse
import heapq
import json
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Fleet:
    """So many machines of so many cores, and what happens to them."""

    machines: int
    cores: int = 32
    days_between_failures: float = 30.0
    """Of one machine, on average; spot machines have one or two."""
    replace_h: float = 0.1
    straggle: float = 0.1
    """Spread of the speed of machines and tasks: the deviation of its logarithm."""

    def deaths(self, rng: np.random.Generator) -> float:
        """Hours until a machine dies."""
        return float(rng.exponential(self.days_between_failures * 24))


def batch_hours(core_hours: float, fleet: Fleet, rng: np.random.Generator, task_h: float = 0.25) -> float:
    """Tasks of `task_h` on one machine, each given to whoever is free first."""
    tasks = max(1, round(core_hours / fleet.cores / task_h))
    durations = list(task_h * rng.lognormal(0.0, fleet.straggle, tasks))
    free = [(0.0, machine) for machine in range(fleet.machines)]
    dies = [fleet.deaths(rng) for _ in range(fleet.machines)]
    end = 0.0
    while durations:
        now, machine = heapq.heappop(free)
        duration = durations.pop()
        if now + duration > dies[machine]:
            durations.append(duration)
            back = max(now, dies[machine]) + fleet.replace_h
            dies[machine] = back + fleet.deaths(rng)
            heapq.heappush(free, (back, machine))
            continue
        end = max(end, now + duration)
        heapq.heappush(free, (now + duration, machine))
    return end


def training_hours(
    core_hours: float, fleet: Fleet, rng: np.random.Generator, every_h: float = 0.5, write_h: float = 0.01
) -> float:
    """All together between two checkpoints, or all again from the last one."""
    slowest = float(rng.lognormal(0.0, fleet.straggle, (200, fleet.machines)).max(axis=1).mean())
    left = core_hours / fleet.cores / fleet.machines * slowest
    now, next_death = 0.0, fleet.deaths(rng) / fleet.machines
    while left > 0:
        stretch = min(every_h, left)
        if now + stretch + write_h > next_death:
            now = max(now, next_death) + fleet.replace_h
            next_death = now + fleet.deaths(rng) / fleet.machines
            continue
        now, left = now + stretch + write_h, left - stretch
    return now


def mean_hours(kind: str, core_hours: float, fleet: Fleet, runs: int, every_h: float = 0.5) -> float:
    """Over so many lives of the fleet."""
    found = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        batch = kind == "batch"
        found.append(batch_hours(core_hours, fleet, rng) if batch else training_hours(core_hours, fleet, rng, every_h))
    return float(np.mean(found))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--core-hours", type=float, default=10_000)
    arguments.add_argument("--runs", type=int, default=50)
    chosen = arguments.parse_args()
    fleets = {"steady": (30.0, 0.1), "spot": (1.0, 0.1), "spot, uneven": (1.0, 0.4)}
    rows = []
    print(
        f"{chosen.core_hours:,.0f} core hours, machines of 32 cores\n"
        f"{'work':34}{'fleet':16}{'machines':>9}{'hours':>8}{'ideal':>8}"
    )
    for work, every_h in (
        ("batch", 0.5),
        ("training, checkpoint each 30 min", 0.5),
        ("training, checkpoint each 4 h", 4.0),
    ):
        for fleet_name, (days, spread) in fleets.items():
            for machines in (1, 8, 64):
                fleet = Fleet(machines, days_between_failures=days, straggle=spread)
                hours = mean_hours(work.split(",")[0], chosen.core_hours, fleet, chosen.runs, every_h)
                ideal = chosen.core_hours / 32 / machines
                print(f"{work:34}{fleet_name:16}{machines:>9}{hours:>8.1f}{ideal:>8.1f}")
                rows.append({"work": work, "fleet": fleet_name, "machines": machines, "hours": round(hours, 2)})
    print(json.dumps({"core_hours": chosen.core_hours, "rows": rows}))


if __name__ == "__main__":
    main()
