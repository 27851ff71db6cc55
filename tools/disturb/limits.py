"""Limits of the machine: disk, size of files, open files, memory: a sentence, and nothing is lost."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from disturb.findings import Finding
from disturb.ground import Ground, Home, Undisturbed, check_rerun, check_whole
from disturb.process import Body
from disturb.shop import Verb

KIND = "limits"
_PAGE = 4096


def limit(ground: Ground, verb: Verb, normal: Undisturbed, draw: Random, name: str) -> Finding:
    older = draw.random() < 0.5
    about = draw.choice(["a full disk", "a full disk", "size of files", "open files", "memory"])
    finding = Finding(KIND, about, tries=1)
    with ground.home(verb, name, older=older) as home:
        if about == "a full disk" and can_mount():
            with _small_disk(home, draw.randint(0, 60)) as enlarge:
                ended = home.run(verb.body)
                _judge(home, finding, ended.code, ended.words, normal, older)
                enlarge()
                check_rerun(home, finding, [normal.prints[older]])
            return finding
        ended = home.run(_with_limit(verb.body, about, draw))
        _judge(home, finding, ended.code, ended.words, normal, older)
        check_rerun(home, finding, [normal.prints[older]])
    return finding


def _judge(home: Home, finding: Finding, code: int, words: str, normal: Undisturbed, older: bool) -> None:
    good = {0, 2, 1 if home.verb.per_file else 2}  # a benchmark goes on and ends with 1 where some of it failed
    if finding.about == "memory":  # compiled code may end the process in its own words; files are promised all the same
        good |= {1, -signal.SIGABRT, -signal.SIGSEGV}
    if code not in good or "Traceback" in words or (code == 2 and not words.strip()):
        finding.fault("tracebacks", f"{home.verb.name} ended with {code}: {words[-1500:]}")
    check_whole(home, finding, [normal.prints[older], normal.other if older else {}])


def _with_limit(body: Body, about: str, draw: Random) -> Body:
    def limited() -> None:
        if about == "memory":
            pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
            kind, most = resource.RLIMIT_AS, pages * _PAGE + draw.randint(0, 400 << 20)
        elif about == "open files":
            used = 1 + max((int(one.name) for one in Path("/proc/self/fd").glob("*")), default=9)
            kind, most = resource.RLIMIT_NOFILE, used + draw.randint(0, 12)
        else:
            kind, most = resource.RLIMIT_FSIZE, draw.randint(1, 20) * _PAGE
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
        body()

    return limited


def can_mount() -> bool:
    return os.geteuid() == 0 and Path("/dev/shm").is_dir() and shutil.which("mount") is not None


@contextmanager
def _small_disk(home: Home, free_pages: int) -> Iterator[Body]:
    """The home on a disk of its own with so much room left; what enlarges it is handed over."""
    aside = home.path.with_name(f"{home.path.name}.aside")
    home.path.rename(aside)
    home.path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(home.path)], check=True)
    try:
        shutil.copytree(aside, home.path, dirs_exist_ok=True)
        used = os.statvfs(home.path)
        _resize(home.path, (used.f_blocks - used.f_bfree) * used.f_frsize + free_pages * _PAGE)
        yield lambda: _resize(home.path, 64 << 20)
    finally:
        subprocess.run(["umount", str(home.path)], check=True)
        shutil.rmtree(aside)


def _resize(path: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(path)], check=True)
