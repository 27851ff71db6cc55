"""The disk, carefully: whole files, directories that change in one step, and refusals in words."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sidrec.core.errors import SidrecError, StorageError
from sidrec.core.refusals import disk_refusal

HOST = socket.gethostname()
STARTED = datetime.now().astimezone().isoformat(timespec="seconds")
"""When this process began, near enough to tell it from an earlier one with the same number."""


@functools.cache
def kernel() -> str:
    """Which running system this is: containers on one machine share it, a machine's next start has another."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return HOST


def temporary(path: Path) -> Path:
    """A hidden sibling that no other writer, on whatever machine, can have chosen."""
    host = re.sub(r"[^A-Za-z0-9]+", "-", HOST)[:20]
    return path.with_name(f".{path.name}.tmp-{host}-{os.getpid()}-{secrets.token_hex(4)}")


def siblings(path: Path, purpose: str) -> list[Path]:
    """The hidden siblings that writers of `path` use, of purpose `tmp`, `work` or `lock`; never another output's."""
    ours = re.compile(re.escape(f".{path.name}.{purpose}-") + "[A-Za-z0-9-]+")
    return sorted(file for file in path.parent.iterdir() if ours.fullmatch(file.name)) if path.parent.is_dir() else []


def remove(path: Path) -> None:
    """A file or a directory, where it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn a refusal of the disk into one sentence, also where a library wrapped it in an error of its own."""
    try:
        yield
    except SidrecError:
        raise
    except Exception as error:
        why = disk_refusal(error)
        if why is not None:
            arguments = ("out",) if "choose" in why else ()
            raise StorageError(f"{path}: {why}.", arguments=arguments) from error
        raise


def sha256_of(path: Path) -> str:
    """Hash of a file, read in pieces."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_folder(folder: Path) -> str:
    """Hash of all files in a folder, with their names."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder).as_posix()}\0{sha256_of(file)}\0".encode())
    return digest.hexdigest()


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
    if not path.exists() and old.is_dir():
        old.rename(path)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names atomically (Linux renameat2); False where the system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    at_fdcwd, rename_exchange = -100, 2
    done = renameat2(at_fdcwd, os.fsencode(first), at_fdcwd, os.fsencode(second), rename_exchange)
    return bool(done == 0)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
