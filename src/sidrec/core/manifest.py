"""The manifest of an artefact: what it is, what it was made from, and size and hash of every file in it."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

from sidrec.core.errors import ArtifactError
from sidrec.core.storage import sha256_of, write_json

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


def parse(text: bytes, where: Path) -> dict[str, Any]:
    """What stands in the manifest `where`; anything that no writer of ours can have written is damage."""
    try:
        values = json.loads(text)
        if values["format"] != FORMAT:
            raise ArtifactError(f"{where}: format {values['format']}, this version reads {FORMAT}; make it again.")
        files = {name: {"sha256": str(of["sha256"]), "bytes": int(of["bytes"])} for name, of in values["files"].items()}
        if not all(is_inside(name) for name in files):
            raise ValueError("a file outside the directory")
        plain = {name: str(values[name]) for name in ("kind", "fingerprint")}
        tables = {name: dict(values[name]) for name in ("settings", "made_from")}
        return {**values, **plain, **tables, "files": files}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise ArtifactError(f"{where}: damaged manifest; make the artefact again.") from None


def seal(directory: Path, origin: Origin) -> None:
    """Hash what is there and write the manifest, last.

    An artefact inside answers for its own files: its manifest is listed, and they are verified when it is opened.
    """
    files = {}
    for file in sorted(directory.rglob("*")):
        if file.is_file() and file != directory / MANIFEST and not _within_another(file, directory):
            name = file.relative_to(directory).as_posix()
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
    write_json(directory / MANIFEST, manifest)


def _within_another(file: Path, directory: Path) -> bool:
    inside = (folder / MANIFEST for folder in file.parents if directory in folder.parents)
    return any(manifest.is_file() and manifest != file for manifest in inside)


def is_inside(name: str) -> bool:
    """Whether a file's name from the directory stays in it."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in _VERSIONED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
