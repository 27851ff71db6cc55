"""What was written below the mirror goes to the store: all files of a new version, then the manifest that names it.

Whoever is killed before the manifest is put leaves the old version; afterwards it is the new one; never a mixture. Two
writers on two machines do not know of each other: one that finds that another version appeared since it began gives
up, and between this look and the manifest the last one wins, whole.
"""

from __future__ import annotations

import json
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from sidrec.core.errors import ArtifactError, StorageError
from sidrec.core.manifest import MANIFEST
from sidrec.core.places import uri_of
from sidrec.core.remote_files import RemoteFiles
from sidrec.core.stored_version import VERSIONS, StoredVersion

_AT_ONCE, _DEAD_NS = 4, 86_400 * 10**9


def before(path: Path) -> dict[str, Any] | None:
    """The manifest that is valid before a writer begins; None where there is none or none that can be read."""
    uri = uri_of(path)
    if uri is None:
        return None
    try:
        found = StoredVersion.at(RemoteFiles(uri))
    except ArtifactError:
        return None
    return None if found is None else found.manifest


def publish(work: Path, path: Path, found: dict[str, Any] | None) -> None:
    """Where `path` stands for a URI: put the sealed directory `work` there, if what was `found` there still is."""
    uri = uri_of(path)
    if uri is None:
        return
    place, manifest = RemoteFiles(uri), json.loads((work / MANIFEST).read_bytes())
    names = [file.relative_to(work).as_posix() for file in sorted(work.rglob("*")) if file.is_file()]
    files = {name: (work / name).stat().st_size for name in names if name != MANIFEST}
    version = StoredVersion(manifest, secrets.token_hex(16), files)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda name: version.place(place).below(name).send(work / name), files))
    if before(path) not in (found, manifest):
        words = "another writer has put something there since this one began; nothing was replaced"
        raise StorageError(f"{uri}: {words}. Run the same command again.")
    place.below(MANIFEST).put(version.text())
    _sweep(place, version)


def publish_file(path: Path) -> None:
    """Where `path` stands for a URI: put this file there; it is there when all of it is."""
    uri = uri_of(path)
    if uri is not None:
        RemoteFiles(uri).send(path)


def _sweep(place: RemoteFiles, current: StoredVersion) -> None:
    """Other versions that are older than a day: replaced ones, and those of writers that were killed.

    A younger one may be another writer's, or in the hands of a reader.
    """
    versions = place.below(VERSIONS)
    with suppress(StorageError, FileNotFoundError):
        newest: dict[str, int] = {}
        for name, found in versions.files(deep=True).items():
            of = name.partition("/")[0]
            newest[of] = max(newest.get(of, 0), found.changed_ns)
        for of, changed_ns in newest.items():
            if of != current.id and time.time_ns() - changed_ns > _DEAD_NS:
                versions.below(of).remove_folder()
