"""Kill what changes a model where it stands, at random moments: afterwards it is the old one or the new one, whole.

    python tools/kill_in_place.py --kills 20

Each of `items add`, `train --from` into the same place, and `save` is killed so often, at a random system call that
changes a file, or at a random time where the kernel cannot count these. Then the command runs again undisturbed and
must end with the new model. The last line is one JSON object; the exit code says whether all held.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from random import Random

os.environ.update({"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2", "HF_HUB_OFFLINE": "1"})
sys.path.insert(0, str(Path(__file__).resolve().parent))

from disturb import syscalls
from disturb.looking import Prints, prints_of
from disturb.process import Body, Ended, command, library, run, run_killed, start
from disturb.shop import PREPARE, TRAIN, write_tables

ADD, FROM, SAVE = "items add", "train --from", "save"


def _save() -> None:
    import sidrec

    model = sidrec.load("model")
    model.remove_items(["i1"])
    model.save("model")


BODIES: dict[str, Body] = {
    ADD: command("items add model --items new.csv"),
    FROM: command("train --from model --data data2 --out model --replace"),
    SAVE: library(_save),
}


def build(home: Path) -> None:
    """A small shop and its model."""
    write_tables(home)
    (home / "tmp").mkdir()
    words = [PREPARE.replace("--out out", f"--out {out}") for out in ("data", "data2 --max-history 5")]
    for line in (*words, TRAIN.replace("--out out", "--out model")):
        _must(run(command(line), home, home / "tmp" / "said"), line)


def attack(name: str, base: Path, place: Path, kills: int, draw: Random) -> dict[str, int]:
    """Counts of what was found under the model's name after each kill."""
    old = prints_of(base / "model")
    whole = _home(base, place / "whole")
    ended = _must(run_killed(BODIES[name], whole, place / "said", None), name)
    new = prints_of(whole / "model")
    found = {"killed": 0, "old": 0, "new": 0, "mixed": 0, "not_new_after_rerun": 0}
    for number in range(kills):
        home = _home(base, place / str(number))
        killed = _killed(BODIES[name], home, place / "said", ended, draw)
        found["killed"] += killed.code == -signal.SIGKILL
        now = prints_of(home / "model")
        found["old" if now == old else "new" if now == new else "mixed"] += 1
        found["not_new_after_rerun"] += not _ends_new(name, home, place / "said", now, new)
        shutil.rmtree(home)
    return found


def _ends_new(name: str, home: Path, said: Path, now: Prints, new: Prints) -> bool:
    """The same again gives the new model; items that are there already are refused and stay."""
    again = run(BODIES[name], home, said)
    fine = again.code == (2 if name == ADD and now == new else 0)
    return fine and prints_of(home / "model") == new


def _killed(body: Body, home: Path, said: Path, ended: Ended, draw: Random) -> Ended:
    if syscalls.available():
        return run_killed(body, home, said, draw.randint(1, ended.writes))
    running = start(body, home, said)
    time.sleep(draw.uniform(0, ended.seconds))
    running.send(signal.SIGKILL)
    return running.wait()


def _home(base: Path, path: Path) -> Path:
    return Path(shutil.copytree(base, path))


def _must(ended: Ended, what: str) -> Ended:
    if ended.code != 0:
        raise SystemExit(f"{what} fails undisturbed: {ended.words}")
    return ended


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill what changes a model in place.")
    parser.add_argument("--kills", type=int, default=20, help="of each command")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    for module in ("sidrec.cli.app", "sidrec.verbs", "sidrec.pipeline.train", "sidrec.pipeline.items"):
        __import__(module)  # used by nobody here: thread pools do not survive a fork
    __import__("sidrec.models.llada_rec.recommender")
    place = Path(tempfile.mkdtemp(prefix="kills-"))  # not one that goes by itself: every child would take it along
    try:
        (place / "base").mkdir()
        build(place / "base")
        found = {}
        for name in BODIES:
            (place / name).mkdir()
            found[name] = attack(name, place / "base", place / name, asked.kills, Random(f"{asked.seed} {name}"))
    finally:
        shutil.rmtree(place)
    print(json.dumps(found))
    bad = sum(one["mixed"] + one["not_new_after_rerun"] for one in found.values())
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
