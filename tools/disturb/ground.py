"""The ground of all trials: the inputs, and what undisturbed runs of every verb leave."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from disturb.findings import Finding
from disturb.looking import Prints, broken_parts, differences, leftovers, prints_of
from disturb.process import Body, Ended, run, run_killed
from disturb.shop import Verb


@dataclass(frozen=True)
class Undisturbed:
    """What a verb leaves when nothing disturbs it."""

    verb: str
    prints: list[Prints]
    """From nothing; where another version stood before."""
    writes: list[int]
    other: Prints
    seconds: float


@dataclass(frozen=True)
class Home:
    """A fresh folder with the inputs, for one trial."""

    path: Path
    inputs: frozenset[str]
    verb: Verb

    @property
    def out(self) -> Path:
        return self.path / self.verb.out

    @property
    def said(self) -> Path:
        return self.path.with_name(f"{self.path.name}.said")

    def run(self, body: Body) -> Ended:
        return run(body, self.path, self.said)

    def run_killed(self, body: Body, at: int | None, number: int = signal.SIGKILL) -> Ended:
        return run_killed(body, self.path, self.said, at, number)

    def leftovers(self) -> list[str]:
        return leftovers(self.path, set(self.inputs), self.verb.out)


@dataclass(frozen=True)
class Ground:
    """Where the inputs and the other versions lie; trials link to them, so that none may change an input in place."""

    place: Path

    @property
    def inputs(self) -> Path:
        return self.place / "inputs"

    @contextmanager
    def home(self, verb: Verb, name: str, *, older: bool = False) -> Iterator[Home]:
        """With `older`, another version of the output stands there already."""
        path = self.place / "homes" / name
        shutil.copytree(self.inputs, path, copy_function=os.link)
        if older:
            _copy(self.older(verb), path / verb.out)
        home = Home(path, frozenset(file.name for file in self.inputs.iterdir()), verb)
        try:
            yield home
        finally:
            shutil.rmtree(path, ignore_errors=True)
            home.said.unlink(missing_ok=True)

    def older(self, verb: Verb) -> Path:
        return self.place / "older" / verb.name

    def observe(self, verb: Verb) -> Undisturbed:
        """Undisturbed runs, by which the disturbed ones are judged."""
        name = f"observed {verb.name}"
        with self.home(verb, name) as home:
            _must(home.run(verb.other), verb)
            _copy(home.out, self.older(verb))
        prints, writes = [], []
        for older in (False, True):
            with self.home(verb, name, older=older) as home:
                ended = _must(home.run_killed(verb.body, None), verb)
                prints.append(prints_of(home.out))
                writes.append(ended.writes)
        return Undisturbed(verb.name, prints, writes, prints_of(self.older(verb)), ended.seconds)


def check_whole(home: Home, finding: Finding, allowed: list[Prints]) -> None:
    """What stands under the final name is one of the versions that may stand there."""
    if home.verb.per_file:
        parts = broken_parts(home.out, allowed) if home.out.exists() else []
        if parts:
            finding.fault("broken", ", ".join(parts))
    elif prints_of(home.out) not in allowed:
        files = differences(prints_of(home.out), allowed[0])
        finding.fault("broken", f"{home.verb.out} is neither the old nor the new version: {files[:300]}")


def check_rerun(home: Home, finding: Finding, wanted: list[Prints]) -> None:
    """The same command again ends well, leaves nothing behind and gives the bytes of an undisturbed run."""
    ended = home.run(home.verb.body)
    if ended.code != 0:
        finding.fault(
            "tracebacks" if ended.traceback else "not_identical",
            f"rerun ended with {ended.code}: {ended.words[-1500:]}",
        )
        return
    left = home.leftovers()
    if left:
        finding.fault("leftovers", f"after the rerun: {' '.join(left)[:500]}")
    if prints_of(home.out) not in wanted:
        files = differences(prints_of(home.out), wanted[0])
        finding.fault("not_identical", f"the rerun's output differs from an undisturbed run's: {files[:300]}")


def draw_for(*parts: object) -> Random:
    """Chance that depends on the campaign's seed and the trial alone, not on who runs it."""
    return Random(" ".join(str(part) for part in parts))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def _must(ended: Ended, verb: Verb) -> Ended:
    if ended.code != 0:
        raise SystemExit(f"{verb.name}: undisturbed, it ended with {ended.code}: {ended.words[-2000:]}")
    return ended
