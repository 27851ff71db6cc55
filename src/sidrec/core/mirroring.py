"""The mirror is brought up to date before it is read: one version of an artefact, whole; a file; or a folder's files.

What is fetched is checked against the manifest and gets its name when all of it is there. A version that is replaced
while it is fetched is fetched again. The store is the truth: what is gone there goes here.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from sidrec.core.errors import ArtifactError, StorageError
from sidrec.core.manifest import MANIFEST, is_inside
from sidrec.core.places import mirrored, uri_of
from sidrec.core.remote_files import Found, RemoteFiles
from sidrec.core.storage import remove, siblings, storage_errors, swap_in, temporary, write_json
from sidrec.core.stored_version import VERSIONS, StoredVersion

_TRIES, _AT_ONCE, _DEAD_S = 5, 4, 86_400


class _ReplacedError(Exception):
    """Another version took the place while we fetched."""


def local(value: str | os.PathLike[str]) -> Path:
    """The path of a path, or of a URI with what lies there now."""
    path = mirrored(value)
    refresh(path)
    return path


def refresh(path: Path) -> None:
    """Where `path` stands for a URI: fetch what lies there, unless it is here already."""
    uri = uri_of(path)
    if uri is None:
        return
    for _ in range(_TRIES):
        with suppress(_ReplacedError), storage_errors(path):
            return _refresh(RemoteFiles(uri), path)
    raise ArtifactError(f"{uri}: is replaced again and again while it is fetched; wait for its writer's end.")


def _refresh(place: RemoteFiles, path: Path) -> None:
    version = StoredVersion.at(place)
    if version is not None:
        if _standing(path) != version.manifest:
            _fetch_version(place, version, path)
        return
    found = place.look()
    if found.kind == "file":
        _fetch_file(place, found, path)
    elif found.kind == "folder":
        _fetch_folder(place, path)
    else:
        if place.bucket.look().kind == "nothing":
            words = "no such bucket, or these credentials do not see it; make it, or check the name"
            raise StorageError(f"{place.bucket.uri}: {words}.")
        _clear(path, {})


def _standing(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads((path / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    return found


def _fetch_version(place: RemoteFiles, version: StoredVersion, path: Path) -> None:
    _sweep(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = _unfinished(path)
    try:
        try:
            _fetch_all(version.place(place), version, folder)
        except FileNotFoundError as gone:
            if StoredVersion.at(place) != version:
                raise _ReplacedError from None
            raise ArtifactError(f"{gone}: missing, though the manifest lists it; make the artefact again.") from None
        write_json(folder / MANIFEST, version.manifest)
        if path.is_file():
            path.unlink()
        swap_in(folder, path)
    except FileExistsError:
        raise _ReplacedError from None  # another reader was faster
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:  # the same, said by rename
            raise _ReplacedError from None
        raise
    finally:
        remove(folder)


def _fetch_all(place: RemoteFiles, version: StoredVersion, folder: Path) -> None:
    listed = version.manifest["files"]
    sizes = version.files or {
        name: found.size
        for name, found in place.files(deep=True).items()
        if name != MANIFEST and not name.startswith(f"{VERSIONS}/") and is_inside(name)
    }
    missing = [name for name in listed if name not in sizes]
    if missing:
        raise FileNotFoundError(f"{place.uri}/{missing[0]}")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        hashes = dict(zip(sizes, pool.map(lambda name: _fetch(place, name, folder), sizes), strict=True))
    wrong = [name for name, facts in listed.items() if hashes[name] != facts["sha256"]]
    if wrong:
        words = "its content is not what the manifest says; make the artefact again"
        raise ArtifactError(f"{place.uri}/{wrong[0]}: {words}.")


def _fetch(place: RemoteFiles, name: str, folder: Path) -> str:
    try:
        return place.below(name).fetch(folder / name)
    except FileNotFoundError:
        raise FileNotFoundError(f"{place.uri}/{name}") from None


def _fetch_file(place: RemoteFiles, found: Found, path: Path) -> None:
    """Unless size and time say that it is here; one that changes meanwhile is fetched again."""
    if path.is_file() and (path.stat().st_size, path.stat().st_mtime_ns) == (found.size, found.changed_ns):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fetched = _unfinished(path)
    try:
        place.fetch(fetched)
        if place.look() != found or fetched.stat().st_size != found.size:
            raise _ReplacedError
        os.utime(fetched, ns=(found.changed_ns, found.changed_ns))
        if path.is_dir():
            _clear(path, {})
        fetched.replace(path)
    except FileNotFoundError:
        raise _ReplacedError from None
    finally:
        remove(fetched)


def _fetch_folder(place: RemoteFiles, path: Path) -> None:
    """The files in it; folders inside have addresses of their own."""
    files = place.files(deep=False)
    _clear(path, files)
    path.mkdir(parents=True, exist_ok=True)
    for name, found in files.items():
        if is_inside(name) and not name.startswith("."):
            _fetch_file(place.below(name), found, path / name)


def _clear(path: Path, kept: Mapping[str, Found]) -> None:
    """What is no longer in the store; hidden files are the unfinished work of writers here."""
    if path.is_file() or (path / MANIFEST).is_file():
        remove(path)
    elif path.is_dir():
        for file in path.iterdir():
            if file.name not in kept and not file.name.startswith(".") and file.is_file():
                remove(file)
        with suppress(OSError):  # not empty
            path.rmdir()


def _unfinished(path: Path) -> Path:
    """Not a writer's temporary name: writers remove those of dead writers."""
    return temporary(path.with_name(f"{path.name}.fetched"))


def _sweep(path: Path) -> None:
    """What was left by a process that was killed while it fetched."""
    for stale in siblings(path.with_name(f"{path.name}.fetched"), "tmp"):
        with suppress(FileNotFoundError):
            if time.time() - stale.stat().st_mtime > _DEAD_S:
                remove(stale)
