"""What training leaves behind and a saved model keeps: its history, its curve, and the state that going on needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sidrec.core.artifacts import MANIFEST, Artifact, sha256_of
from sidrec.training import checkpoints

FILES = ("history.jsonl", "curve.svg")
BOARD = "tensorboard"
"""Folder of what a tracker wrote: `tensorboard --logdir MODEL` shows it."""
_STATE = f"{checkpoints.NAME}/{MANIFEST}"


@dataclass(frozen=True)
class Records:
    """The small files themselves, and where the state lies."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    state: Path | None = None
    """A directory with a checkpoint in it."""
    seal: str = ""
    """Hash of the checkpoint's manifest: another writer may have put another model there."""

    @classmethod
    def in_work(cls, workdir: Path | None) -> Records:
        """Of a training that has just ended."""
        if workdir is None:
            return cls()
        files = {name: (workdir / name).read_bytes() for name in FILES if (workdir / name).is_file()}
        files |= {f"{BOARD}/{log.name}": log.read_bytes() for log in sorted(workdir.rglob("events.out.tfevents.*"))}
        there = (workdir / _STATE).is_file()
        return cls(files, workdir if there else None, sha256_of(workdir / _STATE) if there else "")

    @classmethod
    def of(cls, artifact: Artifact) -> Records:
        """Of a saved model."""
        logs = [name for name in artifact.manifest["files"] if Path(name).parts[:-1] == (BOARD,)]
        files = {name: artifact.file(name).read_bytes() for name in (*FILES, *logs) if artifact.has(name)}
        if not artifact.has(_STATE):
            return cls(files)
        return cls(files, artifact.path, artifact.manifest["files"][_STATE]["sha256"])

    def write(self, directory: Path, *, with_state: bool) -> None:
        """Into a model that is being saved; a state that is no longer there, or another's, is left out."""
        for name, content in self.files.items():
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_bytes(content)
        there = self.state is not None and (self.state / _STATE).is_file()
        if with_state and there and self.state is not None and sha256_of(self.state / _STATE) == self.seal:
            checkpoints.take_over(self.state, directory)
