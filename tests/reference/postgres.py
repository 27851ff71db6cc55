"""A throw-away PostgreSQL: a cluster in a temporary folder, run by an unprivileged user, reached by a socket file."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest


def binaries() -> Path | None:
    """Where Debian keeps the newest version, or wherever the path leads."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: int(file.parts[-3]))
    named = shutil.which("initdb")
    return found[-1].parent if found else Path(named).parent if named else None


class Cluster:
    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder, self._programs, self._numbers = folder, programs, count()

    def fresh(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{next(self._numbers)}"
        self.call("createdb", "-h", str(self._folder), "-U", "tester", name)
        return f"postgresql://tester@/{name}?host={self._folder}"

    def call(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [self._programs / program, *words],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=self._folder,
            **_unprivileged(),
        )
        assert done.returncode == 0, f"{program}: {done.stderr}"


@contextmanager
def cluster() -> Iterator[Cluster]:
    programs = binaries()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="sidrec-pg-"))  # its path must be short: a socket's name has 107 bytes
    try:
        if os.geteuid() == 0:
            if _somebody() is None:
                pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")
            os.chown(folder, _somebody().pw_uid, _somebody().pw_gid)
        made = Cluster(folder, programs)
        data = str(folder / "data")
        made.call("initdb", "-D", data, "-U", "tester", "--auth=trust", "--no-sync", "--locale=C", "-E", "UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off -c max_connections=60"
        made.call("pg_ctl", "-D", data, "-w", "-t", "30", "-o", options, "-l", str(folder / "log"), "start")
        try:
            yield made
        finally:
            made.call("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _somebody() -> pwd.struct_passwd | None:
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return known.get("postgres") or known.get("nobody")


def _unprivileged() -> dict[str, int]:
    somebody = _somebody()
    if os.geteuid() != 0 or somebody is None:
        return {}
    return {"user": somebody.pw_uid, "group": somebody.pw_gid}
