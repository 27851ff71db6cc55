"""What became of each cell, as small JSON files beside the artefacts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sidrec.core.artifacts import write_json
from sidrec.core.checked_files import read_json
from sidrec.core.errors import ArtifactError


@dataclass(frozen=True)
class CellRecord:
    """`model`, `sids`, `test` and `validation` are paths inside the benchmark's directory."""

    name: str
    section: str
    label: str
    dataset: str
    seed: int
    status: Literal["done", "failed", "skipped"]
    data: str = ""
    """Fingerprint of the data set."""
    message: str = ""
    model: str = ""
    sids: str = ""
    test: str = ""
    validation: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    judging_seconds: float = 0.0
    users_per_s: float = 0.0
    recipe: str = ""
    content: dict[str, str] = field(default_factory=dict)
    """Hashes of the files outside that its settings name."""

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path) -> CellRecord | None:
        """The record, or None where there is none that this version understands."""
        try:
            return read_json(path, cls)
        except ArtifactError:
            return None

    def line(self) -> str:
        """The cell in one line."""
        words = f"{self.section} | {self.dataset} | {self.label} | seed {self.seed}"
        if self.status == "failed":
            return f"{words}: FAILED: {self.message}"
        shown = ", ".join(f"{name} {value:.4f}" for name, value in self.figures.items())
        if self.status == "skipped":
            return f"{words}: already done, {shown}"
        seconds = float(self.training.get("seconds", 0.0))
        return f"{words}: {shown}, trained {seconds:.1f} s, judged {self.judging_seconds:.1f} s"
