"""Disturb everything that writes or reads, and count what does not hold.

The long form, whose table is committed (about 20 minutes on two free cores):

    python tools/campaign.py --page docs/results/reliability.md

Everything is settable: `--kills 24 --races 12 --loads 100 --minutes 1`. The last line is one JSON object. With the same
seed the same things are tried, whatever the number of workers; only moments in time are the machine's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "2",
    "HF_HUB_OFFLINE": "1",
    "MPLCONFIGDIR": str(Path(tempfile.gettempdir()) / "campaign-matplotlib"),
}
os.environ.update(ONE_THREAD)
sys.path.insert(0, str(Path(__file__).resolve().parent))

from disturb import kills, loads, process, races, shop  # noqa: E402
from disturb.findings import FAULTS, Finding, summed, table, totals  # noqa: E402
from disturb.ground import Ground, Undisturbed, draw_for  # noqa: E402
from disturb.workers import Job, in_parallel  # noqa: E402

LONG = {"kills": 500, "races": 200, "loads": 5000, "artefacts": 1000, "inputs": 200}


def main() -> None:
    asked = _asked()
    place = Path(tempfile.mkdtemp(prefix="campaign-", dir=asked.place))
    began = time.monotonic()
    try:
        process.warm()
        _tell(f"warm after {time.monotonic() - began:.0f} s; everything happens in {place}")
        ground = Ground(place)
        shop.build(ground.inputs)
        found = _campaign(ground, asked, began + 60 * asked.minutes)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    lines = summed(found)
    counts = totals(found, LONG)
    print(table(lines))
    if asked.page:
        _write_page(asked.page, lines, counts, time.monotonic() - began)
    print(json.dumps({**counts, "seed": asked.seed, "seconds": round(time.monotonic() - began)}))
    sys.exit(any(counts[name] for name in FAULTS))


def _campaign(ground: Ground, asked: argparse.Namespace, deadline: float) -> list[Finding]:
    verbs = [verb for verb in shop.VERBS if asked.verb is None or verb.name in asked.verb]
    normal = _observed(ground, verbs, asked)
    _tell("undisturbed: " + ", ".join(f"{name} {one.seconds:.1f} s" for name, one in normal.items()))
    jobs: list[Job] = []
    turns = [verb for turn in range(4) for verb in verbs if turn < verb.weight]
    for kind, trial in ((kills.KIND, kills.kill), (races.KIND, races.race)):
        for number in range(getattr(asked, kind)):
            verb, name = turns[number % len(turns)], f"{kind}-{number}"
            jobs.append(partial(trial, ground, verb, normal[verb.name], draw_for(asked.seed, name), name))
    for number in range(-(-asked.loads // loads.PER_TRIAL)):
        kind, name = list(loads.SWAPPED)[number % len(loads.SWAPPED)], f"loads-{number}"
        jobs.append(partial(loads.load, ground, kind, draw_for(asked.seed, name), name))
    draw_for(asked.seed, "order").shuffle(jobs)
    return [Finding(**found) for found in in_parallel(jobs, ground.place, asked.workers, deadline)]


def _observed(ground: Ground, verbs: list[shop.Verb], asked: argparse.Namespace) -> dict[str, Undisturbed]:
    jobs = [partial(ground.observe, verb) for verb in verbs] if asked.kills or asked.races else []
    found = in_parallel(jobs, ground.place, asked.workers, math.inf)
    return {values["verb"]: Undisturbed(**values) for values in found}


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Disturb everything that writes or reads, and count what breaks.")
    for kind, number in LONG.items():
        parser.add_argument(f"--{kind}", type=int, default=number)
    parser.add_argument("--minutes", type=float, default=60.0, help="Stop after this time, whatever is left.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verb", action="append", help="Only this one; may be given several times.")
    parser.add_argument("--place", default="/dev/shm" if Path("/dev/shm").is_dir() else None, help="Scratch folder.")
    parser.add_argument("--page", type=Path, help="Write the table into this page.")
    return parser.parse_args()


def _write_page(page: Path, lines: list[Finding], counts: dict[str, int], seconds: float) -> None:
    raise NotImplementedError


def _tell(words: str) -> None:
    sys.stderr.write(words + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
