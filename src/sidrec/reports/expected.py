"""Committed figures and their spread over seeds, and whether what was measured here agrees with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from sidrec.core.settings import Settings, read_toml
from sidrec.pipeline.benchmark.scales import ScaleName
from sidrec.reports.luck import luck_of_training
from sidrec.reports.runs import SectionRuns
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
    """What was measured, as a file of expected figures; rows of a section stand together by their number of seeds."""
    parts = []
    for one in sections:
        by_seeds: dict[int, list[RowSummary]] = {}
        for row in one.rows:
            if row.figures:
                by_seeds.setdefault(len(row.row.test), []).append(row)
        parts += [_block(one.runs, n_seeds, rows) for n_seeds, rows in by_seeds.items()]
    return "\n\n".join(parts) + "\n"


def _block(runs: SectionRuns, n_seeds: int, rows: Sequence[RowSummary]) -> str:
    head = {"section": runs.section.name, "dataset": runs.dataset, "scale": runs.plan.scale}
    luck = {name: luck_of_training(runs, name) for name in runs.metrics()} if n_seeds == 1 else {}
    pooled = {name: one.spread for name, one in luck.items() if one is not None}
    lines = [f'{name} = "{value}"' for name, value in head.items()]
    return "\n".join(
        ["[[figures]]", *lines, f"seeds = {n_seeds}", "[figures.rows]", *(_line(row, pooled) for row in rows)]
    )


def _line(row: RowSummary, pooled: Mapping[str, float]) -> str:
    """A row with one seed takes over the spread of the section's other rows, since its own is not known."""
    spread = pooled if any(record.training for record in row.row.records) else {}
    figures = ", ".join(
        f'"{name}" = [{one.value:.5f}, {spread.get(name, one.spread):.5f}]' for name, one in row.figures.items()
    )
    label = row.row.label.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{label}" = {{ {figures} }}'
