"""The same table prepared again and again, with one, two and eight threads: the same bytes every time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where this file itself is started

from disturb.findings import Finding
from disturb.ground import Ground
from disturb.looking import Prints, differences, prints_of
from disturb.process import command, run

KIND = "prepares"
PER_TRIAL, _THREADS = 10, (1, 2, 8)


def write_table(file: Path) -> Path:
    """Long enough that it is read in pieces, by several threads where there are some."""
    rows = "".join(f"u{row * 7919 % 6007},i{row * 31 % 907},{row // 3}\n" for row in range(60_000))
    file.write_text(f"user_id,item_id,timestamp\n{rows}", encoding="utf-8")
    return file


def prepare_often(ground: Ground, table: Path, wanted: Prints, number: int) -> Finding:
    """Some times in one new process: how many threads it has is settled when its libraries begin."""
    threads = _THREADS[number % len(_THREADS)]
    finding = Finding(KIND, f"{threads} thread{'s' * (threads > 1)}")
    home = ground.place / "homes" / f"prepares-{number}"
    home.mkdir(parents=True)
    line = [sys.executable, str(Path(__file__).resolve()), str(table)]
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
    ended = subprocess.run(line, cwd=home, env=environment, capture_output=True, text=True)
    if ended.returncode != 0 or ended.stdout.split()[-1] != str(threads):
        finding.fault("tracebacks", (ended.stdout + ended.stderr)[-1500:])
    for out in home.glob("out-*"):
        finding.tries += 1
        if prints_of(out) != wanted:
            finding.fault("not_identical", differences(prints_of(out), wanted))
    shutil.rmtree(home)
    return finding


def undisturbed(ground: Ground, table: Path) -> Prints:
    out = ground.place / "prepared"
    run(command(f"data prepare --interactions {table} --out {out}"), ground.place, ground.place / "said")
    return prints_of(out)


def _prepare_here(table: str) -> None:
    import polars as pl

    for number in range(PER_TRIAL):
        try:
            command(f"data prepare --interactions {table} --out out-{number}")()
        except SystemExit as end:
            if end.code:
                raise
    print(pl.thread_pool_size())


if __name__ == "__main__":
    _prepare_here(sys.argv[1])
