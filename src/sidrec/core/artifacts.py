"""Artefacts: directories of parquet, safetensors and JSON that are either whole or not there.

A writer fills a temporary sibling, hashes every file, writes the manifest last and swaps the directory in with one
rename. A reader verifies the hashes and says which file is wrong. Nothing executable is ever stored.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from sidrec.core.errors import ArtifactError, StorageError

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
    def settings(self) -> dict[str, Any]:
        return dict(self.manifest["settings"])

    @property
    def made_from(self) -> dict[str, str]:
        return dict(self.manifest["made_from"])

    def file(self, name: str) -> Path:
        if name not in self.manifest["files"]:
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
    path = Path(path)
    work = work_directory(path, origin) if resumable else path.parent / f".{path.name}.tmp-{os.getpid()}"
    with storage_errors(path):
        _sweep(path)
        if not resumable:
            shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True, exist_ok=True)
    try:
        with storage_errors(path):
            yield work
            _seal(work, origin)
            swap_in(work, path)
    except BaseException:
        if not resumable:
            shutil.rmtree(work, ignore_errors=True)
        raise
    if resumable:
        _sweep_work(path)


def work_directory(path: Path, origin: Origin) -> Path:
    """Where a resumable job of this origin keeps its unfinished files."""
    return Path(path).parent / f".{Path(path).name}.work-{origin.fingerprint[:12]}"


def open_artifact(path: Path, kind: str | None = None, *, verify: bool = True) -> Artifact:
    """The artefact at `path`, verified; a damaged or foreign one is an error that names the file."""
    path = Path(path)
    recover(path)
    file = path / MANIFEST
    if not path.exists():
        raise ArtifactError(f"{path}: no such directory{_make(kind)}.")
    if not file.is_file():
        raise ArtifactError(f"{path}: has no {MANIFEST}, so it was never finished or is not ours{_make(kind)}.")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        artifact = Artifact(path, manifest)
        if manifest["format"] != FORMAT:
            raise ArtifactError(f"{file}: format {manifest['format']}, this version reads {FORMAT}; make it again.")
        files = dict(manifest["files"])
        artifact.kind, artifact.fingerprint  # noqa: B018
    except (ValueError, KeyError, TypeError):
        raise ArtifactError(f"{file}: damaged manifest; make the artefact again.") from None
    if kind is not None and artifact.kind != kind:
        raise ArtifactError(f"{path}: is a {artifact.kind} artefact, a {kind} artefact is needed{_make(kind)}.")
    for name, facts in files.items():
        _check_file(path / name, facts, verify=verify)
    return artifact


def finished(path: Path, origin: Origin) -> bool:
    """Whether `path` already holds exactly this artefact."""
    try:
        return open_artifact(path, origin.kind).fingerprint == origin.fingerprint
    except ArtifactError:
        return False


def sha256_of(path: Path) -> str:
    """Hash of a file, read in pieces."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Any) -> None:
    """JSON on disk, readable, flushed and complete before it gets its name."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=2, ensure_ascii=False, default=str)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def swap_in(new: Path, path: Path) -> None:
    """Give `new` the name `path` in one step; what stood there before is removed afterwards."""
    if not path.exists():
        new.rename(path)
    elif _exchange(new, path):
        shutil.rmtree(new, ignore_errors=True)
    else:
        old = path.parent / f".{path.name}.old"
        shutil.rmtree(old, ignore_errors=True)
        path.rename(old)
        new.rename(path)
        shutil.rmtree(old, ignore_errors=True)
    _sync_directory(path.parent)


def recover(path: Path) -> None:
    """Where a file system without an atomic exchange was killed between two renames, bring the old one back."""
    old = path.parent / f".{path.name}.old"
    if not path.exists() and (old / MANIFEST).is_file():
        old.rename(path)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn a refusal of the disk into one sentence."""
    try:
        yield
    except OSError as error:
        reasons = {
            errno.ENOSPC: "no space left on the disk; free some and run the same command again",
            errno.EDQUOT: "the disk quota is used up; free some space and run the same command again",
            errno.EACCES: "no permission to write there; choose another --out",
            errno.EROFS: "the file system is read-only; choose another --out",
            errno.ENOTDIR: "a part of this path is a file, not a directory; choose another --out",
        }
        if error.errno in reasons:
            raise StorageError(f"{path}: {reasons[error.errno]}.") from error
        raise


def _seal(work: Path, origin: Origin) -> None:
    """Hash what is there and write the manifest, last."""
    files = {}
    for file in sorted(work.rglob("*")):
        if file.is_file() and file.name != MANIFEST:
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


def _check_file(file: Path, facts: Mapping[str, Any], *, verify: bool) -> None:
    if not file.is_file():
        raise ArtifactError(f"{file}: missing, though the manifest lists it; make the artefact again.")
    size = file.stat().st_size
    if size != facts["bytes"]:
        raise ArtifactError(f"{file}: has {size} bytes instead of {facts['bytes']}; make the artefact again.")
    if verify and sha256_of(file) != facts["sha256"]:
        raise ArtifactError(f"{file}: its content has changed since it was written; make the artefact again.")


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names atomically (Linux renameat2); False where the system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    at_fdcwd, rename_exchange = -100, 2
    done = renameat2(at_fdcwd, os.fsencode(first), at_fdcwd, os.fsencode(second), rename_exchange)
    return bool(done == 0)


def _sweep(path: Path) -> None:
    """Remove temporary siblings that killed writers left behind (their process is gone)."""
    recover(path)
    for stale in path.parent.glob(f".{path.name}.tmp-*"):
        owner = stale.name.rpartition("-")[2]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(stale, ignore_errors=True)


def _sweep_work(path: Path) -> None:
    for stale in path.parent.glob(f".{path.name}.work-*"):
        shutil.rmtree(stale, ignore_errors=True)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_COMMANDS = {
    "dataset": "sidrec data prepare",
    "embeddings": "sidrec embed",
    "sids": "sidrec tokenize",
    "model": "sidrec train",
}


def _make(kind: str | None) -> str:
    return f"; make one with `{_COMMANDS[kind]}`" if kind in _COMMANDS else ""
