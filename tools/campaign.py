"""Disturb everything that writes or reads, and count what does not hold.

The long form, whose table is committed (about 20 minutes on two free cores):

    python tools/campaign.py --page docs/results/reliability.md

Everything is settable: `--kills 24 --races 12 --loads 100 --minutes 5`. The last line is one JSON object. With the same
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
from collections.abc import Iterator
from datetime import date
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

from disturb import answers, artefacts, bad_writers, inputs, kills, limits, loads, prepares, process, races, shop, stops  # noqa: E402
from disturb.findings import FAULTS, Finding, summed, table, totals  # noqa: E402
from disturb.ground import Ground, Undisturbed, draw_for  # noqa: E402
from disturb.workers import Job, in_parallel  # noqa: E402

LONG = {
    **{"kills": 500, "races": 200, "loads": 5000, "artefacts": 1000, "inputs": 200},
    **{"stops": 100, "limits": 100, "answers": 4000, "prepares": 500},
}
MARK = "<!-- written by tools/campaign.py -->"
TRIALS = {kills.KIND: kills.kill, races.KIND: races.race, stops.KIND: stops.stop, limits.KIND: limits.limit}


def main() -> None:
    asked = _asked()
    place = Path(tempfile.mkdtemp(prefix="campaign-", dir=asked.place))
    began = time.monotonic()
    try:
        if not asked.bad_writers:
            process.warm()
        _tell(f"warm after {time.monotonic() - began:.0f} s; everything happens in {place}")
        ground = Ground(place)
        (ground.inputs / "tmp").mkdir(parents=True)
        if asked.bad_writers:
            found = _campaign(ground, asked, began + 60 * asked.minutes)
        else:
            shop.build(ground.inputs)
            _tell(f"the shop stands after {time.monotonic() - began:.0f} s")
            with shop.serving(place / "server"):
                found = _campaign(ground, asked, began + 60 * asked.minutes)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    lines = sorted(summed(found), key=lambda line: list(LONG).index(line.kind))
    counts = totals(found, LONG)
    print(table(lines))
    if asked.page:
        _write_page(asked.page, lines, asked, time.monotonic() - began)
    print(json.dumps({**counts, "seed": asked.seed, "seconds": round(time.monotonic() - began)}))
    sys.exit(any(counts[name] for name in FAULTS))


def _campaign(ground: Ground, asked: argparse.Namespace, deadline: float) -> list[Finding]:
    known = bad_writers.BAD if asked.bad_writers else shop.VERBS
    verbs = [verb for verb in known if asked.verb is None or verb.name in asked.verb]
    normal = _observed(ground, verbs, asked)
    _tell("undisturbed: " + ", ".join(f"{name} {one.seconds:.1f} s" for name, one in normal.items()))
    jobs = [*_of_verbs(ground, verbs, normal, asked), *_of_readers(ground, asked)]
    draw_for(asked.seed, "order").shuffle(jobs)
    return [Finding(**found) for found in in_parallel(jobs, ground.place, asked.workers, deadline)]


def _of_verbs(
    ground: Ground, verbs: list[shop.Verb], normal: dict[str, Undisturbed], asked: argparse.Namespace
) -> Iterator[Job]:
    """Verbs take turns; what takes long has fewer of them."""
    for kind, trial in TRIALS.items():
        chosen = [verb for verb in verbs if verb.is_command or kind != stops.KIND]
        turns = [verb for turn in range(4) for verb in chosen if turn < verb.weight]
        for number in range(getattr(asked, kind)):
            verb, name = turns[number % len(turns)], f"{kind}-{number}"
            yield partial(trial, ground, verb, normal[verb.name], draw_for(asked.seed, name), name)


def _of_readers(ground: Ground, asked: argparse.Namespace) -> Iterator[Job]:
    for number in range(-(-asked.loads // loads.PER_TRIAL)):
        kind, name = list(loads.SWAPPED)[number % len(loads.SWAPPED)], f"loads-{number}"
        yield partial(loads.load, ground, kind, draw_for(asked.seed, name), name)
    for number in range(asked.artefacts):
        yield partial(artefacts.lie, ground, draw_for(asked.seed, "artefact", number), f"artefact-{number}")
    for number in range(asked.inputs):
        yield partial(inputs.feed, ground, draw_for(asked.seed, "input", number), f"input-{number}")
    if asked.prepares:
        table = prepares.write_table(ground.place / "many.csv")
        wanted = prepares.undisturbed(ground, table)
        for number in range(-(-asked.prepares // prepares.PER_TRIAL)):
            yield partial(prepares.prepare_often, ground, table, wanted, number)
    for number in range(-(-asked.answers // answers.PER_TRIAL)):
        yield partial(answers.ask, ground, number, f"answers-{number}")


def _observed(ground: Ground, verbs: list[shop.Verb], asked: argparse.Namespace) -> dict[str, Undisturbed]:
    jobs = [partial(ground.observe, verb) for verb in verbs] if any(getattr(asked, kind) for kind in TRIALS) else []
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
    parser.add_argument("--bad-writers", action="store_true", help="Only writers that are bad: they must be found out.")
    parser.add_argument("--place", default="/dev/shm" if Path("/dev/shm").is_dir() else None, help="Scratch folder.")
    parser.add_argument("--page", type=Path, help="Write the table into this page.")
    return parser.parse_args()


def _write_page(page: Path, lines: list[Finding], asked: argparse.Namespace, seconds: float) -> None:
    """Everything after the mark is ours; what stands before it is written by people."""
    words = page.read_text(encoding="utf-8").split(MARK)[0] if page.exists() else ""
    faults = [f"- {first}" for line in lines for first in line.words[:3]]
    facts = f"Seed {asked.seed}, {asked.workers} workers, {seconds / 60:.0f} minutes, {date.today()}."
    parts = [words + MARK, facts, table(lines), *(["What did not hold:", "\n".join(faults)] if faults else [])]
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _tell(words: str) -> None:
    sys.stderr.write(words + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
