"""What trials found, counted."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

FAULTS = ("broken", "tracebacks", "leftovers", "not_identical")


@dataclass
class Finding:
    """One trial: what was tried, on what, and what was wrong afterwards, in words where something was."""

    kind: str
    about: str
    tries: int = 0
    broken: int = 0
    """Under the final name stood something that is neither the old nor the new version, or an answer was of neither."""
    tracebacks: int = 0
    leftovers: int = 0
    not_identical: int = 0
    words: list[str] = field(default_factory=list)

    def fault(self, name: str, words: str) -> None:
        """One more, told at once."""
        setattr(self, name, getattr(self, name) + 1)
        self.words.append(f"{self.kind}, {self.about}: {name}: {words}")
        sys.stderr.write(self.words[-1] + "\n")

    @property
    def faults(self) -> int:
        return sum(getattr(self, name) for name in FAULTS)


def summed(findings: Iterable[Finding]) -> list[Finding]:
    """One line per kind and subject, in the order of their first appearance."""
    lines: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        line = lines.setdefault((finding.kind, finding.about), Finding(finding.kind, finding.about))
        for name in ("tries", *FAULTS):
            setattr(line, name, getattr(line, name) + getattr(finding, name))
        line.words += finding.words
    return list(lines.values())


def totals(findings: Iterable[Finding], kinds: Iterable[str]) -> dict[str, int]:
    """The campaign in one object."""
    found = list(findings)
    tried = {kind: sum(finding.tries for finding in found if finding.kind == kind) for kind in kinds}
    return {**tried, **{name: sum(getattr(finding, name) for finding in found) for name in FAULTS}}


def table(lines: Iterable[Finding]) -> str:
    """Markdown."""
    rows = [
        f"| {one.kind} | {one.about} | {one.tries:,} | " + " | ".join(str(getattr(one, n)) for n in FAULTS) + " |"
        for one in lines
    ]
    head = [
        "| disturbance | of | tries | broken | tracebacks | left-overs | not identical |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    return "\n".join([*head, *rows])
