"""A file on its way: what has come so far, and which version of it on the server that was."""

from __future__ import annotations

from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from sidrec.core.checked_files import read_json
from sidrec.core.errors import ArtifactError
from sidrec.core.storage import write_json


@dataclass(frozen=True)
class Version:
    """What tells one version of a file on a server from the next; an empty `tag` tells nothing."""

    url: str
    tag: str
    """Strong ETag, or the date of the last change."""

    @classmethod
    def of(cls, url: str, headers: Message) -> Version:
        tag = headers.get("ETag") or ""
        return cls(url, headers.get("Last-Modified") or "" if tag.startswith("W/") or not tag else tag)


class PartialFile:
    """`NAME.part` with its version in `NAME.part.json`; both survive a stop and go when the file is whole."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(target.name + ".part")
        self._version_file = target.with_name(target.name + ".part.json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def left(self) -> bool:
        """Whether anything of it is there."""
        return self.path.exists() or self._version_file.exists()

    def version(self, url: str) -> Version | None:
        """Which version the bytes are of; None where they cannot be gone on with."""
        if not self.size:
            return None
        try:
            found = read_json(self._version_file, Version)
        except ArtifactError:
            return None
        return found if found.url == url and found.tag else None

    def begin(self, version: Version) -> None:
        """Nothing has come yet of this version."""
        self.discard()
        write_json(self._version_file, {"url": version.url, "tag": version.tag})

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self._version_file.unlink(missing_ok=True)

    def finish(self) -> None:
        self.path.replace(self.target)
        self._version_file.unlink(missing_ok=True)
