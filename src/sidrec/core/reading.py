"""Reading artefacts: all files of one version, verified, whatever writers do meanwhile.

A reader opens the directory, its manifest and every file at once and only then begins to read: a writer that swaps in
another version takes away the names, not the open files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sidrec.core.checked_files import read_json
from sidrec.core.errors import ArtifactError, SidrecError, StorageError
from sidrec.core.locks import locked
from sidrec.core.manifest import MANIFEST, parse
from sidrec.core.mirroring import local
from sidrec.core.storage import recover, sha256_of, siblings

_TRIES, _MOMENT = 100, 0.01
_OPEN_FILES = Path("/dev/fd")
_COMMANDS = {
    "dataset": "sidrec data prepare",
    "embeddings": "sidrec embed",
    "sids": "sidrec tokenize",
    "model": "sidrec train",
    "evaluation": "sidrec evaluate",
    "graphs": "sidrec export",
}


@dataclass(frozen=True)
class Artifact:
    """A verified directory; inside `opened` its files are those that were verified."""

    path: Path
    manifest: dict[str, Any]
    _handles: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

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
        """Where to read a file that the manifest lists."""
        if not self.has(name):
            raise ArtifactError(f"{self.path}: has no file {name}; it was written by another version, make it again.")
        if name not in self._handles or not _OPEN_FILES.is_dir():
            return self.path / name
        os.lseek(self._handles[name], 0, os.SEEK_SET)  # some systems share the position with whoever opens this name
        return _OPEN_FILES / str(self._handles[name])

    def with_real_names(self, words: str) -> str:
        """What is said about an open file, said about the file under its name."""
        for name, handle in self._handles.items():
            words = re.sub(rf"{_OPEN_FILES}/{handle}\b", str(self.path / name).replace("\\", r"\\"), words)
        return words

    def json(self, name: str) -> dict[str, Any]:
        """A file that holds one JSON object."""
        return read_json(self.file(name), dict[str, Any])


@contextmanager
def opened(path: Path, kind: str | None = None, *, verify: bool = True) -> Iterator[Artifact]:
    """The artefact at `path`, verified, with its files open; a damaged or foreign one is an error that names the file.

    Without `verify` only the sizes are looked at.
    """
    with ExitStack() as stack:
        path = local(path)
        artifact = _one_version(path, kind, stack)
        for name in artifact.manifest["files"]:
            _check_file(artifact, name, verify=verify)
        try:
            yield artifact
        except SidrecError as error:
            error.args = tuple(artifact.with_real_names(str(word)) for word in error.args)
            raise


def open_artifact(path: Path, kind: str | None = None, *, verify: bool = True) -> Artifact:
    """The same for whoever wants to know about an artefact; its files are read with `opened`."""
    with opened(path, kind, verify=verify) as artifact:
        return replace(artifact, _handles={})


class _ReplacedError(Exception):
    """Another version took the name while we were opening files."""


def _one_version(path: Path, kind: str | None, stack: ExitStack) -> Artifact:
    for _ in range(_TRIES):
        with suppress(_ReplacedError), ExitStack() as attempt:
            artifact = _open_all(path, kind, attempt)
            stack.enter_context(attempt.pop_all())
            return artifact
    raise ArtifactError(f"{path}: is replaced again and again while it is read; wait for its writer's end.")


def _open_all(path: Path, kind: str | None, stack: ExitStack) -> Artifact:
    """Through one handle of the directory, so that no file is another version's."""
    directory = _open_directory(path, kind, stack)
    try:
        with os.fdopen(os.open(MANIFEST, os.O_RDONLY, dir_fd=directory), "rb") as file:
            manifest = parse(file.read(), path / MANIFEST)
        if kind is not None and manifest["kind"] != kind:
            raise ArtifactError(f"{path}: is a {manifest['kind']} artefact, a {kind} artefact is needed{_make(kind)}.")
        handles = {name: _open(name, stack, directory) for name in manifest["files"]}
    except FileNotFoundError as error:
        if not _is_still(path, directory):
            raise _ReplacedError from None
        if error.filename == MANIFEST:
            raise _never_finished(path, kind) from None
        raise ArtifactError(
            f"{path / str(error.filename)}: missing, though the manifest lists it; make the artefact again."
        ) from None
    return Artifact(path, manifest, handles)


def _open_directory(path: Path, kind: str | None, stack: ExitStack) -> int:
    try:
        return _open(path, stack, flags=os.O_DIRECTORY)
    except NotADirectoryError:
        raise _never_finished(path, kind) from None
    except FileNotFoundError:
        _look_for_the_old_one(path.resolve())
    if siblings(path.resolve(), "work"):
        raise ArtifactError(f"{path}: is not finished; run the command that makes it again, it will go on.")
    raise ArtifactError(f"{path}: no such directory{_make(kind)}.")


def _look_for_the_old_one(path: Path) -> None:
    """Where names cannot be exchanged, there is a moment without any: wait for a living writer, mend a dead one's."""
    if path.exists():
        raise _ReplacedError
    if (path.parent / f".{path.name}.old").is_dir():
        with suppress(StorageError), locked(path):
            recover(path)
        time.sleep(_MOMENT)
        raise _ReplacedError


def _open(name: str | Path, stack: ExitStack, directory: int | None = None, flags: int = 0) -> int:
    handle = os.open(name, os.O_RDONLY | flags, dir_fd=directory)
    stack.callback(os.close, handle)
    return handle


def _is_still(path: Path, directory: int) -> bool:
    try:
        return os.path.samestat(os.fstat(directory), path.stat())
    except FileNotFoundError:
        return False


def _check_file(artifact: Artifact, name: str, *, verify: bool) -> None:
    facts, file = artifact.manifest["files"][name], artifact.path / name
    found = artifact.file(name).stat().st_size
    if found != facts["bytes"]:
        raise ArtifactError(f"{file}: has {found} bytes instead of {facts['bytes']}; make the artefact again.")
    if verify and sha256_of(artifact.file(name)) != facts["sha256"]:
        raise ArtifactError(f"{file}: its content has changed since it was written; make the artefact again.")


def _never_finished(path: Path, kind: str | None) -> ArtifactError:
    return ArtifactError(f"{path}: has no {MANIFEST}, so it was never finished or is not ours{_make(kind)}.")


def _make(kind: str | None) -> str:
    return f"; make one with `{_COMMANDS[kind]}`" if kind in _COMMANDS else ""
