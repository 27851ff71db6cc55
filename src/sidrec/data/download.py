"""Public data sets over HTTP: resumed where it stopped, retried, checked, and whole before a file gets its name."""

from __future__ import annotations

import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from urllib.parse import quote

from sidrec.core.errors import InputError
from sidrec.core.locks import lock_file, locked, locked_if_free
from sidrec.core.progress import Progress, ProgressTask, SilentProgress
from sidrec.core.storage import sha256_of, storage_errors
from sidrec.data.partial_file import PartialFile, Version

AMAZON_2023 = "https://mcauleylab.ucsd.edu/public_datasets/data/amazon_2023"
SET_PREFIX = "amazon-2023/"
_BLOCK = 1 << 20
_HASH = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True)
class Retry:
    """How stubborn a transfer is: the wait doubles after every failure that brought no new bytes."""

    attempts: int = 5
    first_wait: float = 1.0
    timeout: float = 30.0


class _InterruptedError(Exception):
    """The connection broke or the server is busy; worth another try."""


def amazon_files(name: str, *, raw: bool = False) -> tuple[str, ...]:
    """The paths of one category: its 5-core leave-one-out files (or the raw reviews) and its items."""
    category = name.removeprefix(SET_PREFIX)
    if not name.startswith(SET_PREFIX) or not category or "/" in category or ".." in category:
        raise InputError(f"{name}: not a data set we know; write {SET_PREFIX}<category>, e.g. {SET_PREFIX}Video_Games.")
    meta = f"raw/meta_categories/meta_{category}.jsonl.gz"
    if raw:
        return f"raw/review_categories/{category}.jsonl.gz", meta
    parts = ("train", "valid", "test")
    return (*(f"benchmark/5core/last_out_w_his/{category}.{part}.csv.gz" for part in parts), meta)


def download(
    files: Sequence[str],
    out: Path,
    *,
    base_url: str = AMAZON_2023,
    sha256: Mapping[str, str] | None = None,
    retry: Retry | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Fetch every file into `out`; `sha256` gives the expected hash by file name, where known.

    A file `NAME.sha256` beside the finished file, as `sha256sum` writes it, is believed as well.
    """
    progress = progress or SilentProgress()
    targets = {out / file.rpartition("/")[2]: f"{base_url.rstrip('/')}/{quote(file)}" for file in files}
    expected = _hashes(sha256 or {}, [target.name for target in targets])
    if not base_url.lower().startswith(("http://", "https://")):
        raise InputError(f"{base_url}: is no address of a web server; it begins with https:// or http://.")
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    fetched = []
    for target, url in targets.items():
        wanted = expected.get(target.name) or _sidecar(target)
        if _is_there(target, wanted):
            progress.note(f"{target} is already there.")
            _tidy(target)
        else:
            _fetch(url, target, wanted, retry or Retry(), progress)
        fetched.append(target)
    return fetched


def _hashes(given: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Expected hashes in small letters; one for no file, or one that is none, would check nothing and is refused."""
    for name, text in given.items():
        if name not in names:
            raise InputError(f"a sha256 is given for {name}, which is not fetched; the files are {', '.join(names)}.")
        if not _HASH.fullmatch(text):
            raise InputError(f"the sha256 given for {name} is {text!r}; 64 hexadecimal digits are needed.")
    return {name: text.lower() for name, text in given.items()}


def _fetch(url: str, target: Path, wanted: str | None, retry: Retry, progress: Progress) -> None:
    """Into a partial file, which survives a stop; the name is given once size and hash are right."""
    part = PartialFile(target)
    failures, wait = 0, retry.first_wait
    with locked(target), storage_errors(target), progress.task(target.name) as task:
        while not _is_there(target, wanted):  # somebody may have fetched it while we waited
            before = part.size
            try:
                _transfer(url, part, retry.timeout, task)
                _give_name(url, part, wanted)
                return
            except _InterruptedError as error:
                failures, wait = (1, retry.first_wait) if part.size > before else (failures + 1, wait * 2)
                if failures >= retry.attempts:
                    raise InputError(
                        f"{url}: {error} ({failures} tries); run the same command again to go on where it stopped."
                    ) from None
                time.sleep(wait)


def _is_there(target: Path, wanted: str | None) -> bool:
    return target.exists() and (wanted is None or sha256_of(target) == wanted)


def _give_name(url: str, part: PartialFile, wanted: str | None) -> None:
    if wanted is not None and sha256_of(part.path) != wanted:
        part.discard()
        raise InputError(f"{url}: the file does not have the expected sha256 {wanted}; it was removed, try again.")
    part.finish()


def _tidy(target: Path) -> None:
    """Beside a finished file: remove what its writer left that died between giving it its name and the end."""
    part = PartialFile(target)
    if part.left or lock_file(target).exists():
        with locked_if_free(target) as free:
            if free:
                part.discard()


def _transfer(url: str, part: PartialFile, timeout: float, task: ProgressTask) -> None:
    """One request; of the version we have some bytes of, only the rest is asked for."""
    version, have = part.version(url), part.size
    headers = {} if version is None else {"Range": f"bytes={have}-", "If-Range": version.tag}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout) as answer:
            if answer.status != http.client.PARTIAL_CONTENT:
                have = 0
                part.begin(Version.of(url, answer.headers))
            elif version is None or not _goes_on(answer.headers, have, version):
                part.discard()
                raise _InterruptedError("the file changed on the server")
            rest = answer.headers.get("Content-Length")
            with part.path.open("ab") as file:
                while block := answer.read(_BLOCK):
                    file.write(block)
                    task.advance(len(block))
        if rest is not None and part.size != have + int(rest):
            raise _InterruptedError("the connection broke")
    except urllib.error.HTTPError as error:
        _judge(error, url, part, version, have)
    except http.client.IncompleteRead as error:
        with part.path.open("ab") as file:
            file.write(error.partial)
        raise _InterruptedError("the connection broke") from None
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise _InterruptedError(f"cannot be reached ({reason})") from None


def _goes_on(headers: Message, have: int, version: Version) -> bool:
    """Whether the rest that a server sends is the rest of what we have."""
    first = (headers.get("Content-Range") or "").removeprefix("bytes ").partition("-")[0]
    return first == str(have) and Version.of(version.url, headers).tag in ("", version.tag)


def _judge(error: urllib.error.HTTPError, url: str, part: PartialFile, version: Version | None, have: int) -> None:
    """Which answers are worth a retry, and which are final."""
    if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and version is not None:
        total = (error.headers.get("Content-Range") or "").rpartition("/")[2]
        if total == str(have) and Version.of(url, error.headers).tag in ("", version.tag):
            return
        part.discard()
        raise _InterruptedError("the file changed on the server")
    if error.code in (408, 425, 429) or error.code >= 500:
        raise _InterruptedError(f"the server answered {error.code}")
    if error.code == http.client.NOT_FOUND:
        raise InputError(f"{url}: no such file on the server; check the category's name.")
    words = f"the server answered {error.code} {error.reason}; check the server's address."
    raise InputError(f"{url}: {words}", arguments=("base_url",))


def _sidecar(target: Path) -> str | None:
    """The hash in `NAME.sha256`, where somebody put one."""
    file = target.with_name(target.name + ".sha256")
    if not file.is_file():
        return None
    words = file.read_text(encoding="utf-8", errors="replace").split()
    if not words or not _HASH.fullmatch(words[0]):
        raise InputError(f"{file}: does not begin with a sha256 in hexadecimal; correct or remove it.")
    return words[0].lower()
