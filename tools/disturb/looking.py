"""What is looked at after a disturbance: hashes, left-overs, and files that are broken under their final names."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

Prints = dict[str, str]
"""A hash for every file by its name; an output that is not there has none at all."""


_SPEED = re.compile(rb'"samples_per_second": [^,}]+')
"""The one measure that a standing clock does not make alike: a resumed epoch's speed is that of its rest."""

_WITH_SPEEDS = ("history.jsonl", "state.json", "manifest.json")
"""Files whose hashes in a manifest differ for that reason alone; they are compared themselves."""


def prints_of(path: Path) -> Prints:
    """Without speeds, and without the name of the trial's folder, which a plan's file says in full."""
    if path.is_file():
        return {"": _hash(path)}
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): _lasting_hash(file, path.parent) for file in files}


def _lasting_hash(file: Path, home: Path) -> str:
    data = file.read_bytes()
    if file.name == "manifest.json":
        values = json.loads(data)
        kept = {name: facts for name, facts in values["files"].items() if Path(name).name not in _WITH_SPEEDS}
        values["files"] = kept
        data = json.dumps(values).encode()
    if file.suffix in (".json", ".jsonl"):
        data = _SPEED.sub(b"", data.replace(str(home).encode(), b"HOME"))
    return hashlib.sha256(data).hexdigest()


def differences(found: Prints, wanted: Prints) -> str:
    return " ".join(name for name in {**found, **wanted} if found.get(name) != wanted.get(name))


def leftovers(home: Path, expected: set[str], out: str) -> list[str]:
    """Whatever a finished command left beside its inputs and its output, hidden inside it, or as temporary files."""
    beside = [file.name for file in home.iterdir() if file.name not in expected | {out, "tmp"}]
    inside = [file.relative_to(home).as_posix() for file in (home / out).rglob("*") if _is_scratch(file.name)]
    return sorted(beside + inside + [f"tmp/{file.name}" for file in (home / "tmp").iterdir()])


def broken_parts(folder: Path, allowed: list[Prints]) -> list[str]:
    """Of a folder of outputs: artefacts that are not what their manifests say, JSON that cannot be read, and packed
    files that are not those of an undisturbed run."""
    packed = {file.name: _hash(file) for file in folder.glob("*.gz") if not _is_scratch(file.name)}
    found = [name for name, print_ in packed.items() if all(one.get(name) != print_ for one in allowed)]
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
    return all((folder / name).is_file() and _hash(folder / name) == facts["sha256"] for name, facts in files.items())


def _is_scratch(name: str) -> bool:
    return name.startswith(".") or name.endswith((".tmp", ".part", ".lock"))


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
