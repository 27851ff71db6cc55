"""What is looked at after a disturbance: hashes, left-overs, and files that are broken under their final names."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path


def print_of(path: Path) -> str | None:
    """A hash of a file or of everything in a directory; None where there is nothing."""
    if not path.exists():
        return None
    digest = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        digest.update(file.relative_to(path).as_posix().encode() + b"\0")
        if file.is_file():
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def leftovers(home: Path, expected: set[str], out: str) -> list[str]:
    """Whatever a finished command left beside its inputs and its output, hidden inside it, or as temporary files."""
    beside = [file.name for file in home.iterdir() if file.name not in expected | {out, "tmp"}]
    inside = [file.relative_to(home).as_posix() for file in (home / out).rglob("*") if _is_scratch(file.name)]
    return sorted(beside + inside + [f"tmp/{file.name}" for file in (home / "tmp").iterdir()])


def broken_parts(folder: Path) -> list[str]:
    """Of a folder of outputs: artefacts that are not what their manifests say, and JSON that cannot be read."""
    found = []
    for file in sorted(folder.rglob("*.json")):
        if any(_is_scratch(part) for part in file.relative_to(folder).parts):
            continue
        try:
            values = json.loads(file.read_bytes())
        except ValueError:
            found.append(file.relative_to(folder).as_posix())
            continue
        if file.name == "manifest.json" and not _agrees(file.parent, values["files"]):
            found.append(file.parent.relative_to(folder).as_posix())
    return found


def _agrees(folder: Path, files: dict[str, dict[str, str]]) -> bool:
    return all(
        (folder / name).is_file() and hashlib.sha256((folder / name).read_bytes()).hexdigest() == facts["sha256"]
        for name, facts in files.items()
    )


def _is_scratch(name: str) -> bool:
    return name.startswith(".") or name.endswith((".tmp", ".part", ".lock"))
