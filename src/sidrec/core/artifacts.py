"""Artefacts: directories of parquet, safetensors and JSON that are either whole or not there.

A writer is alone (`locks`), fills a temporary sibling, hashes every file, writes the manifest last and swaps the
directory in with one rename. A reader verifies the hashes and says which file is wrong. Nothing executable is stored.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from sidrec.core.errors import ArtifactError, StorageError
from sidrec.core.locks import locked
from sidrec.core.storage import (
    recover,
    remove,
    sha256_of,
    siblings,
    storage_errors,
    swap_in,
    temporary,
    write_json,
)

__all__ = [
    "Artifact",
    "Origin",
    "finished",
    "forget_work",
    "open_artifact",
    "sha256_of",
    "storage_errors",
    "swap_in",
    "work_directory",
    "write",
    "write_json",
]

MANIFEST = "manifest.json"
FORMAT = 1
_VERSIONED = ("sidrec", "numpy", "polars", "pyarrow", "torch", "safetensors")


@dataclass(frozen=True)
class Origin:
    """What an artefact was made from; two equal origins give equal artefacts, so finished work can be skipped."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    made_from: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None

    @property
    def fingerprint(self) -> str:
        parts = {"kind": self.kind, "settings": self.settings, "made_from": self.made_from, "seed": self.seed}
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class Artifact:
    """A verified directory."""

    path: Path
    manifest: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.manifest["kind"])

    @property
    def fingerprint(self) -> str:
        return str(self.manifest["fingerprint"])

    @property
    def content(self) -> str:
        """A hash of all files: what is in it, whatever it was made from."""
        return hashlib.sha256(json.dumps(self.manifest["files"], sort_keys=True).encode()).hexdigest()

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.manifest["settings"])

    @property
    def made_from(self) -> dict[str, str]:
        return dict(self.manifest["made_from"])

    def has(self, name: str) -> bool:
        return name in self.manifest["files"]

    def file(self, name: str) -> Path:
        if not self.has(name):
            raise ArtifactError(f"{self.path}: has no file {name}; it was written by another version, make it again.")
        return self.path / name

    def json(self, name: str) -> Any:
        return json.loads(self.file(name).read_text(encoding="utf-8"))


@contextmanager
def write(path: Path, origin: Origin, *, resumable: bool = False) -> Iterator[Path]:
    """Yield a temporary sibling directory to fill; on leaving the block it becomes `path`, whole.

    With `resumable` the sibling has a fixed name and survives an error or a kill, so that a job can go on where it
    stopped; the job itself must know which of its files are finished.
    """
    path = Path(path).resolve()
    work = work_directory(path, origin) if resumable else temporary(path)
    with locked(path) as lock:
        with storage_errors(path):
            _sweep(path)
            _refuse_foreign(path)
            work.mkdir(parents=True, exist_ok=True)
        try:
            with storage_errors(path):
                yield work
                _seal(work, origin)
                lock.check()
                swap_in(work, path)
        except BaseException:
            if not resumable:
                remove(work)
            raise
        if resumable:
            forget_work(path)


def work_directory(path: Path, origin: Origin) -> Path:
    """Where a resumable job of this origin keeps its unfinished files."""
    path = Path(path).resolve()
    return path.parent / f".{path.name}.work-{origin.fingerprint[:12]}"


def open_artifact(path: Path, kind: str | None = None, *, verify: bool = True) -> Artifact:
    """The artefact at `path`, verified; a damaged or foreign one is an error that names the file."""
    path = Path(path)
    recover(path.resolve())
    file = path / MANIFEST
    if not path.exists():
        if siblings(path.resolve(), "work"):
            raise ArtifactError(f"{path}: is not finished; run the command that makes it again, it will go on.")
        raise ArtifactError(f"{path}: no such directory{_make(kind)}.")
    if not file.is_file():
        raise ArtifactError(f"{path}: has no {MANIFEST}, so it was never finished or is not ours{_make(kind)}.")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        artifact = Artifact(path, manifest)
        if manifest["format"] != FORMAT:
            raise ArtifactError(f"{file}: format {manifest['format']}, this version reads {FORMAT}; make it again.")
        files = {str(name): (int(facts["bytes"]), str(facts["sha256"])) for name, facts in manifest["files"].items()}
        artifact.kind, artifact.fingerprint, artifact.settings, artifact.made_from  # noqa: B018
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ArtifactError(f"{file}: damaged manifest; make the artefact again.") from None
    if kind is not None and artifact.kind != kind:
        raise ArtifactError(f"{path}: is a {artifact.kind} artefact, a {kind} artefact is needed{_make(kind)}.")
    for name, (size, sha256) in files.items():
        _check_file(path / name, size, sha256 if verify else None)
    return artifact


def finished(path: Path, origin: Origin) -> bool:
    """Whether `path` already holds exactly this artefact."""
    try:
        return open_artifact(path, origin.kind).fingerprint == origin.fingerprint
    except ArtifactError:
        return False


def _seal(work: Path, origin: Origin) -> None:
    """Hash what is there and write the manifest, last."""
    files = {}
    for file in sorted(work.rglob("*")):
        if file.is_file() and file != work / MANIFEST:
            name = file.relative_to(work).as_posix()
            files[name] = {"sha256": sha256_of(file), "bytes": file.stat().st_size}
    manifest = {
        "format": FORMAT,
        "kind": origin.kind,
        "fingerprint": origin.fingerprint,
        "made_from": dict(origin.made_from),
        "settings": dict(origin.settings),
        "seed": origin.seed,
        "versions": _versions(),
        "files": files,
    }
    write_json(work / MANIFEST, manifest)


def _versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in _VERSIONED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _check_file(file: Path, size: int, sha256: str | None) -> None:
    if not file.is_file():
        raise ArtifactError(f"{file}: missing, though the manifest lists it; make the artefact again.")
    found = file.stat().st_size
    if found != size:
        raise ArtifactError(f"{file}: has {found} bytes instead of {size}; make the artefact again.")
    if sha256 is not None and sha256_of(file) != sha256:
        raise ArtifactError(f"{file}: its content has changed since it was written; make the artefact again.")


def _refuse_foreign(path: Path) -> None:
    """What stands at `path` is replaced, so it must be nothing, an empty directory or an artefact of ours."""
    if path.is_dir() and not (path / MANIFEST).is_file() and any(path.iterdir()):
        words = "holds files that sidrec did not write, nothing was touched; choose another place."
        raise StorageError(f"{path}: {words}", arguments=("out",))
    if path.exists() and not path.is_dir():
        words = "is a file, and a directory is to be written; choose another place."
        raise StorageError(f"{path}: {words}", arguments=("out",))


def _sweep(path: Path) -> None:
    """Remove what dead writers left behind; the lock says that no other one lives."""
    recover(path)
    if path.exists():
        remove(path.parent / f".{path.name}.old")
    for stale in (*siblings(path, "tmp"), *siblings(path, "lock")):
        remove(stale)


def forget_work(path: Path) -> None:
    """Remove the unfinished work of every resumable job for `path`, whatever its origin; a running one is not touched:
    the lock is asked for first."""
    path = Path(path).resolve()
    with locked(path):
        for stale in siblings(path, "work"):
            remove(stale)


_COMMANDS = {
    "dataset": "sidrec data prepare",
    "embeddings": "sidrec embed",
    "sids": "sidrec tokenize",
    "model": "sidrec train",
    "evaluation": "sidrec evaluate",
    "graphs": "sidrec export",
}


def _make(kind: str | None) -> str:
    return f"; make one with `{_COMMANDS[kind]}`" if kind in _COMMANDS else ""
