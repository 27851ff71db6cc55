"""Files of an object store, by pyarrow: read in pieces, written whole, refusals in words."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sidrec.core.errors import SidrecError, StorageError

_PIECE = 8 << 20
_CONNECT_S, _ANSWER_S = 10, 60
_WHY = {
    "NO_SUCH_BUCKET": "there is no such bucket; make it, or check the name",
    "ACCESS_DENIED": "the credentials may not do that; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the role",
    "INVALID_ACCESS_KEY_ID": "the store does not know these credentials; check AWS_ACCESS_KEY_ID",
    "SIGNATURE_DOES_NOT_MATCH": "the store refuses these credentials; check AWS_SECRET_ACCESS_KEY",
    "NETWORK_CONNECTION": "the store cannot be reached; check the network, AWS_ENDPOINT_URL and AWS_REGION",
    "credentials": "no credentials were found; set those of the store (AWS_ACCESS_KEY_ID, or gcloud auth)",
    "PERMANENT_REDIRECT": "the bucket lies in another region; set AWS_REGION",
}


@dataclass(frozen=True)
class Found:
    """What lies under a name: `file`, `folder` or nothing."""

    kind: str
    size: int = 0
    changed_ns: int = 0


@dataclass(frozen=True)
class RemoteFiles:
    """What lies at and below one URI."""

    uri: str

    def below(self, name: str) -> RemoteFiles:
        return RemoteFiles(f"{self.uri}/{name}")

    @property
    def bucket(self) -> RemoteFiles:
        scheme, _, rest = self.uri.partition("://")
        return RemoteFiles(f"{scheme}://{rest.split('/')[0]}")

    def look(self) -> Found:
        with remote_errors(self.uri):
            return _found(_store(self._scheme).get_file_info(self._key))

    def files(self, *, deep: bool) -> dict[str, Found]:
        """The files below, by their names from here."""
        from pyarrow.fs import FileSelector

        with remote_errors(self.uri):
            infos = _store(self._scheme).get_file_info(FileSelector(self._key, recursive=deep, allow_not_found=True))
        inside = {info.path[len(self._key) + 1 :]: _found(info) for info in infos}
        return {name: found for name, found in inside.items() if found.kind == "file"}

    def read(self, most: int) -> bytes | None:
        """A small file; None where there is none."""
        try:
            with remote_errors(self.uri), _store(self._scheme).open_input_stream(self._key) as source:
                content = bytes(source.read(most + 1))
        except FileNotFoundError:
            return None
        if len(content) > most:
            raise StorageError(f"{self.uri}: is larger than {most:,} bytes, which no writer of ours makes it.")
        return content

    def fetch(self, to: Path) -> str:
        """The file, in pieces, and its hash; FileNotFoundError where it is gone."""
        digest = hashlib.sha256()
        to.parent.mkdir(parents=True, exist_ok=True)
        with (
            remote_errors(self.uri),
            _store(self._scheme).open_input_stream(self._key) as source,
            to.open("wb") as file,
        ):
            while piece := source.read(_PIECE):
                digest.update(piece)
                file.write(piece)
        return digest.hexdigest()

    def put(self, content: bytes) -> None:
        """A small file: it is there when all of it is."""
        with remote_errors(self.uri), _store(self._scheme).open_output_stream(self._key) as sink:
            sink.write(content)

    def send(self, source: Path) -> None:
        """A file, in pieces; it gets its name when the last one has arrived."""
        with (
            remote_errors(self.uri),
            source.open("rb") as file,
            _store(self._scheme).open_output_stream(self._key) as sink,
        ):
            while piece := file.read(_PIECE):
                sink.write(piece)

    def remove_folder(self) -> None:
        with remote_errors(self.uri):
            _store(self._scheme).delete_dir(self._key)

    @property
    def _scheme(self) -> str:
        return self.uri.partition("://")[0]

    @property
    def _key(self) -> str:
        return self.uri.partition("://")[2]


@contextmanager
def remote_errors(uri: str) -> Iterator[None]:
    """A refusal of the store as one sentence; a file that is not there stays a FileNotFoundError."""
    try:
        yield
    except (SidrecError, FileNotFoundError):
        raise
    except OSError as error:
        if error.filename is not None or error.errno == errno.ENOSPC:  # the disk's, not the store's
            raise
        words = str(error)
        why = next((known for sign, known in _WHY.items() if sign in words), " ".join(words.split())[:200])
        raise StorageError(f"{uri}: {why}.") from error


def _store(scheme: str) -> Any:
    """The file system of a scheme, as the environment describes it."""
    names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID")
    return _made(scheme, tuple((name, os.environ.get(name, "")) for name in names), os.getpid())


@cache
def _made(scheme: str, environment: tuple[tuple[str, str], ...], _process: int) -> Any:
    from pyarrow import fs

    if scheme == "gs":
        return fs.GcsFileSystem()
    found = dict(environment)
    server = urlsplit(found["AWS_ENDPOINT_URL_S3"] or found["AWS_ENDPOINT_URL"])
    options: dict[str, Any] = {"connect_timeout": _CONNECT_S, "request_timeout": _ANSWER_S}
    if server.netloc:
        options |= {"endpoint_override": server.netloc + server.path.rstrip("/"), "scheme": server.scheme}
    if region := found["AWS_REGION"] or found["AWS_DEFAULT_REGION"]:
        options["region"] = region
    return fs.S3FileSystem(retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=3), **options)


def _found(info: Any) -> Found:
    from pyarrow.fs import FileType

    kind = {FileType.File: "file", FileType.Directory: "folder"}.get(info.type, "nothing")
    return Found(kind, info.size or 0, info.mtime_ns or 0)
