"""One writer per output: whoever writes `path` holds the lock file `.NAME.lock` beside it.

Where the file system knows `flock`, the kernel forgets the lock when its holder dies, so a kill leaves nothing that
stands in the way. Where it does not (some shared storage), and between machines whose kernels do not know of each
other, the file is a lease: it names its holder, who touches it every few seconds; a lease that nobody has touched for
a minute is taken over. The holder of a lease can lose it (a machine that slept), so `check` is asked before a result
is given its name.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sidrec.core.errors import StorageError
from sidrec.core.places import mirrored
from sidrec.core.storage import HOST, STARTED, kernel, storage_errors

BEAT, STALE = 5.0, 60.0
"""Seconds between two signs of life, and without one until a lease is taken over."""
_LOOK_AGAIN, _SETTLE = 0.2, 0.2
_patience: ContextVar[Callable[[str], None] | None] = ContextVar("patience", default=None)


@dataclass(frozen=True)
class Lease:
    """Who holds a lock: a process is told from others by its host, number and start, its lock by the token."""

    host: str = HOST
    kernel: str = field(default_factory=kernel)
    pid: int = field(default_factory=os.getpid)
    started: str = STARTED
    token: str = field(default_factory=lambda: secrets.token_hex(8))

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (started {self.started})"


_SOMEBODY = Lease("this or another machine", "", 0, "just now", "")


class Held:
    """A lock in our hands."""

    def __init__(self, path: Path, file: Path, handle: int, lease: Lease) -> None:
        self._path, self._file, self._handle, self._lease = path, file, handle, lease
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._keep_alive, name=f"lock of {path}", daemon=True)
        self._heart.start()

    def check(self) -> None:
        """Refuse to go on where the lock was lost: somebody else writes here now."""
        if not self._is_ours():
            raise StorageError(
                f"{self._path}: this process showed no sign of life for {STALE:g} seconds and another one has taken "
                "over; nothing was replaced. Run the same command again."
            )

    def release(self) -> None:
        """The file goes while it is still locked: whoever opened it meanwhile sees that its name is gone."""
        self._ended.set()
        self._heart.join()
        if self._is_ours():
            self._file.unlink(missing_ok=True)
        os.close(self._handle)

    def _is_ours(self) -> bool:
        return _is_named(self._handle, self._file) and _read(self._handle) == self._lease

    def _keep_alive(self) -> None:
        while not self._ended.wait(BEAT):
            with suppress(OSError):  # a beat may fail; what counts is `check`
                os.utime(self._handle)


@contextmanager
def patient(tell: Callable[[str], None]) -> Iterator[None]:
    """Inside the block a writer whose output is taken says so once and waits, instead of giving up."""
    token = _patience.set(tell)
    try:
        yield
    finally:
        _patience.reset(token)


class _Mine(threading.local):
    """What this thread holds, so that a writer may call another writer of the same output."""

    def __init__(self) -> None:
        self.held: dict[Path, Held] = {}


_mine = _Mine()
_ours: list[Path] = []


def outputs() -> list[Path]:
    """What this process wrote or began to write, in that order; not what was written in the course of it."""
    return list(_ours)


@contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[Held]:
    """Be the only writer of `path`; where another one is at it, wait for its end or say who it is."""
    path = mirrored(path).resolve()
    if path in _mine.held:
        yield _mine.held[path]
        return
    with _folder(path.parent):
        with storage_errors(path):
            held = _taken(path, wait=wait)
        if not _mine.held and path not in _ours:
            _ours.append(path)
        _mine.held[path] = held
        try:
            yield held
        finally:
            del _mine.held[path]
            held.release()


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Be the only writer of `path` where nobody else is at it; False at once where somebody is, or nobody may write."""
    token = _patience.set(None)
    try:
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(path))
            except StorageError:
                yield False
            else:
                yield True
    finally:
        _patience.reset(token)


def lock_file(path: Path) -> Path:
    """Where the lock of `path` lies while somebody writes there, or after he died."""
    return path.parent / f".{path.name}.lock"


def _taken(path: Path, *, wait: bool) -> Held:
    tell = _patience.get()
    told = False
    while isinstance(found := _attempt(path, lock_file(path)), Lease):
        words = f"{path}: is being written by {found}"
        if not (wait or tell):
            raise StorageError(f"{words}; wait for its end or write somewhere else.", arguments=("wait", "out"))
        if tell and not told:
            tell(f"{words}; waiting for its end.")
        told = True
        time.sleep(_LOOK_AGAIN)
    return found


def _attempt(path: Path, file: Path) -> Held | Lease:
    """The lock, or who has it."""
    while True:
        handle, new = _opened(file)
        try:
            other = _obstacle(handle, file, new=new)
            if other is None and _is_named(handle, file):
                lease = Lease()
                _write(handle, lease)
                if _sole(handle, file, lease):
                    held, handle = Held(path, file, handle, lease), -1
                    return held
            elif other is not None:
                return other
        finally:
            if handle >= 0:
                os.close(handle)


def _obstacle(handle: int, file: Path, *, new: bool) -> Lease | None:
    """Who has the lock file that we opened; where nobody has it any more, it is ours to take."""
    flocked = _flock(handle)
    if flocked is False:
        return _read(handle) or _SOMEBODY
    lease = _read(handle)
    if new or (flocked and (lease is None or lease.kernel == kernel())):
        return None
    if _age(handle, file) < STALE:
        return lease or _SOMEBODY
    if not flocked:  # out of the way in one step: two who both found it stale must not both take it
        aside = file.with_name(f"{file.name}-{secrets.token_hex(8)}")
        with suppress(FileNotFoundError):
            file.rename(aside)
            aside.unlink()
    return None


def _flock(handle: int) -> bool | None:
    """Whether we have it; None where the file system knows no such locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _sole(handle: int, file: Path, lease: Lease) -> bool:
    """Without flock, two may have put the same stale lease aside, one of them the other's new one: the last stays."""
    if _flock(handle) is None:
        time.sleep(_SETTLE)
    return _is_named(handle, file) and _read(handle) == lease


def _opened(file: Path) -> tuple[int, bool]:
    """The lock file, and whether it was not there before; its folder may vanish with another writer's failure."""
    while True:
        try:
            return os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
        except FileNotFoundError:
            file.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            with suppress(FileNotFoundError):
                return os.open(file, os.O_RDWR), False


def _is_named(handle: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False


def _read(handle: int) -> Lease | None:
    try:
        return Lease(**json.loads(os.pread(handle, 4096, 0)))
    except (ValueError, TypeError):
        return None


def _write(handle: int, lease: Lease) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(asdict(lease)).encode(), 0)


def _age(handle: int, file: Path) -> float:
    """Seconds since the last sign of life, by the clock of the storage: those of two machines may differ."""
    with tempfile.TemporaryFile(dir=file.parent) as probe:
        return os.fstat(probe.fileno()).st_mtime - os.fstat(handle).st_mtime


@contextmanager
def _folder(folder: Path) -> Iterator[None]:
    """Folders that were made for a writer that left nothing go again."""
    new = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        yield
    finally:
        with suppress(OSError):  # not empty, or somebody was faster
            for parent in new:
                parent.rmdir()
