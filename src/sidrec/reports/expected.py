"""Committed figures and their spread over seeds, and whether what was measured here agrees with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from sidrec.core.settings import Settings, read_toml
from sidrec.pipeline.benchmark.scales import ScaleName
from sidrec.reports.summary import RowSummary, SectionSummary

SMALLEST_SPREAD = 0.001
"""Seeds that happen to agree do not make machines agree: another one adds in another order."""
FEWEST_DEGREES = 2
"""A spread known from fewer seeds than three is as uncertain as one from three."""


class ExpectedSection(Settings):
    """Rows of a section on a data set: metric -> (mean over seeds, standard deviation over seeds)."""

    section: str
    dataset: str
    scale: ScaleName
    seeds: int = Field(ge=1)
    rows: Mapping[str, Mapping[str, tuple[float, float]]]


class Expected(Settings):
    figures: tuple[ExpectedSection, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Expected:
        """What was committed; nothing where there is no file."""
        return cls.parse(read_toml(path), owner="expected figures", where=str(path)) if path.is_file() else cls()


@dataclass(frozen=True)
class Check:
    """One figure; `found` is None where the row was not measured."""

    section: str
    dataset: str
    row: str
    metric: str
    expected: float
    allowed: float
    found: float | None

    @property
    def agrees(self) -> bool:
        return self.found is not None and abs(self.found - self.expected) <= self.allowed


def check(expected: Expected, sections: Sequence[SectionSummary]) -> list[Check]:
    """Every expected figure of the sections that were run, at the scale they were run at."""
    found = {(one.runs.section.name, one.runs.dataset, one.runs.plan.scale): one for one in sections}
    return [
        one
        for wanted in expected.figures
        if (key := (wanted.section, wanted.dataset, wanted.scale)) in found
        for one in _checks(wanted, found[key])
    ]


def _checks(wanted: ExpectedSection, summary: SectionSummary) -> Iterator[Check]:
    rows = {row.row.label: row for row in summary.rows}
    for label, figures in wanted.rows.items():
        for metric, (value, spread) in figures.items():
            row = rows.get(label)
            measured = None if row is None or metric not in row.figures else row.figures[metric].value
            n_found = 1 if row is None else max(1, len(row.row.test))
            allowed = allowance(spread, wanted.seeds, n_found)
            yield Check(wanted.section, wanted.dataset, label, metric, value, allowed, measured)


def allowance(spread: float, n_expected: int, n_found: int) -> float:
    """How far the means of so many seeds may lie apart in 95 of 100 repetitions."""
    from scipy.stats import t

    degrees = max(n_expected - 1, FEWEST_DEGREES)
    return float(t.ppf(0.975, degrees) * max(spread, SMALLEST_SPREAD) * (1 / n_expected + 1 / n_found) ** 0.5)


def as_toml(sections: Sequence[SectionSummary]) -> str:
    """What was measured, as a file of expected figures."""
    parts = []
    for one in sections:
        runs, measured = one.runs, [row for row in one.rows if row.figures]
        if measured:
            head = {"section": runs.section.name, "dataset": runs.dataset, "scale": runs.plan.scale}
            lines = ["[[figures]]", *(f'{name} = "{value}"' for name, value in head.items())]
            seeds = min(len(row.row.test) for row in measured)
            parts.append("\n".join([*lines, f"seeds = {seeds}", "[figures.rows]", *map(_line, measured)]))
    return "\n\n".join(parts) + "\n"


def _line(row: RowSummary) -> str:
    figures = ", ".join(f'"{name}" = [{one.value:.5f}, {one.spread:.5f}]' for name, one in row.figures.items())
    label = row.row.label.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{label}" = {{ {figures} }}'
