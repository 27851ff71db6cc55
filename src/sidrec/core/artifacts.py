"""Artefacts: directories of parquet, safetensors and JSON that are either whole or not there.

A writer is alone (`locks`), fills a temporary sibling, hashes every file, writes the manifest last and swaps the
directory in with one rename; where the path stands for a URI, it is put into the store first (`publishing`). A reader
(`reading`) verifies the hashes and says which file is wrong. Nothing executable is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from sidrec.core.errors import ArtifactError, StorageError
from sidrec.core.locks import lock_file, locked, locked_if_free
from sidrec.core.manifest import MANIFEST, Origin, seal
from sidrec.core.mirroring import refresh
from sidrec.core.places import mirrored
from sidrec.core.progress import Progress
from sidrec.core.publishing import before, publish
from sidrec.core.reading import Artifact, open_artifact, opened
from sidrec.core.replacing import GivesWay, refuse_other
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
    "MANIFEST",
    "Artifact",
    "Origin",
    "ensure",
    "finished",
    "forget_work",
    "open_artifact",
    "opened",
    "sha256_of",
    "storage_errors",
    "swap_in",
    "tidy",
    "work_directory",
    "write",
    "write_json",
]

T = TypeVar("T")


@contextmanager
def write(path: Path, origin: Origin, *, resumable: bool = False, gives_way: GivesWay | None = None) -> Iterator[Path]:
    """Yield a temporary sibling directory to fill; on leaving the block it becomes `path`, whole.

    What stands there is replaced only where it has this origin, or `gives_way`, or replacing was asked for.

    With `resumable` the sibling has a fixed name and survives an error or a kill, so that a job can go on where it
    stopped; the job itself must know which of its files are finished.
    """
    path = mirrored(path).resolve()
    work = work_directory(path, origin) if resumable else temporary(path)
    with locked(path) as lock:
        with storage_errors(path):
            with suppress(ArtifactError):  # a damaged one may be made again
                refresh(path)
            _sweep(path)
            found = before(path)
            _refuse_foreign(path)
            refuse_other(path, origin, gives_way)
            work.mkdir(parents=True, exist_ok=True)
            for scratch in list(work.rglob(".*")):  # of libraries that write a file under another name first, and died
                remove(scratch)
        try:
            with storage_errors(path):
                yield work
                seal(work, origin)
                lock.check()
                publish(work, path, found)
                swap_in(work, path)
        except BaseException:
            if not resumable:
                remove(work)
            raise
        if resumable:
            forget_work(path)


def ensure(
    path: Path,
    origin: Origin,
    make: Callable[[], T | None],
    load: Callable[[Artifact], T],
    progress: Progress | None = None,
    *,
    alone: bool = True,
    gives_way: GivesWay | None = None,
) -> T:
    """What `load` reads from the artefact of this origin at `path`; where that is not there yet, `make` writes it.

    What `make` returns is the answer; where it returns nothing, what it wrote is loaded, and not hashed again. A
    process that only helps the one that writes is not `alone`: it takes no lock.
    """
    path = mirrored(path)
    with ExitStack() as stack:
        artifact = _found(path, origin, stack)
        if artifact is None and alone:
            stack.enter_context(locked(path))
            artifact = _found(path, origin, stack)  # somebody may have made it while we waited
        if artifact is not None:
            if alone:
                tidy(path, origin)
            if progress is not None:
                progress.note(f"{path}: already there, nothing to do.")
            return load(artifact)
        if alone:
            refuse_other(path, origin, gives_way)
        made = make()
        return load(stack.enter_context(opened(path, origin.kind, verify=False))) if made is None else made


def finished(path: Path, origin: Origin) -> bool:
    """Whether `path` already holds exactly this artefact."""
    with ExitStack() as stack:
        return _found(Path(path), origin, stack) is not None


def work_directory(path: Path, origin: Origin) -> Path:
    """Where a resumable job of this origin keeps its unfinished files."""
    path = mirrored(path).resolve()
    return path.parent / f".{path.name}.work-{origin.fingerprint[:12]}"


def forget_work(path: Path) -> None:
    """Remove the unfinished work of every resumable job for `path`, whatever its origin, unless one is running."""
    path = mirrored(path).resolve()
    with locked(path):
        for stale in siblings(path, "work"):
            remove(stale)


def tidy(path: Path, origin: Origin) -> None:
    """Beside a finished output: remove what its writer left that died between giving it its name and the end."""
    path = mirrored(path).resolve()
    works = [work for work in siblings(path, "work") if origin.fingerprint[:12] in work.name]
    if not (works or siblings(path, "tmp") or lock_file(path).exists()):
        return
    with locked_if_free(path) as free:
        if free:
            _sweep(path)
            for work in works:
                remove(work)


def _found(path: Path, origin: Origin, stack: ExitStack) -> Artifact | None:
    """The artefact of this origin, verified; nothing is hashed where the manifest says that it is another one."""
    try:
        if open_artifact(path, origin.kind, verify=False).fingerprint == origin.fingerprint:
            artifact = stack.enter_context(opened(path, origin.kind))
            return artifact if artifact.fingerprint == origin.fingerprint else None
    except ArtifactError:
        pass
    return None


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
