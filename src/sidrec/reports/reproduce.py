"""A committed experiment in one go: run its plan, write the report, compare with the figures it should give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sidrec.core.errors import InputError, SettingsError
from sidrec.core.progress import Progress
from sidrec.core.settings import read_toml
from sidrec.pipeline.benchmark.plan import DEMO, Plan, only_sections, read_plan
from sidrec.pipeline.benchmark.records import CellRecord
from sidrec.pipeline.benchmark.runner import benchmark
from sidrec.pipeline.recipes import find_recipe
from sidrec.reports.build import Report, build_report
from sidrec.reports.expected import Check, Expected, as_toml, check

EXPERIMENTS = ("demo", "scientific", "beauty")
RUNS, REPORT = "runs", "report"


@dataclass(frozen=True)
class Reproduction:
    """What was run, its report, and every expected figure beside what was found."""

    plan: Plan
    report: Report
    failed: list[CellRecord]
    checks: list[Check]

    @property
    def agrees(self) -> bool:
        return not self.failed and all(one.agrees for one in self.checks)

    def as_dict(self) -> dict[str, Any]:
        return {
            "title": self.plan.title,
            "scale": self.plan.scale,
            "report": str(self.report.page),
            "failed": [record.name for record in self.failed],
            "agrees": self.agrees,
            "checks": [{**asdict(one), "agrees": one.agrees} for one in self.checks],
        }

    def as_expected(self) -> str:
        """The figures found, in the form in which expected ones are committed."""
        return as_toml(self.report.sections)


def reproduce(
    name: str,
    out: Path,
    *,
    data: Path | None = None,
    sections: Sequence[str] = (),
    changes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run a committed experiment; finished cells in `out` are kept, so a second call only compares.

    `data` is the folder of its data set, or the folder that holds it under its name; `changes` replace values of the
    plan (scale, seeds, processes).
    """
    plan = plan_of(name, data, changes or {})
    plan = only_sections(plan, sections) if sections else plan
    result = benchmark(plan, Path(out) / RUNS, progress=progress)
    if len(result.failed) == len(result.records):
        raise InputError(f"nothing could be measured: {result.failed[0].message}")
    report = build_report([Path(out) / RUNS], Path(out) / REPORT, progress)
    file = plan_file(name)
    expected = Expected.read(file.parent / "expected" / file.name)
    return Reproduction(plan, report, result.failed, check(expected, report.sections))


def plan_file(name: str) -> Path:
    if name not in EXPERIMENTS:
        raise SettingsError(f"{name}: no such experiment; choose one of {', '.join(EXPERIMENTS)}.", arguments=("name",))
    return find_recipe(f"experiments/plus-{name}")


def plan_of(name: str, data: Path | None, changes: Mapping[str, Any]) -> Plan:
    """The plan on the user's data; at another scale than its own, recipes give way to the scale's budget."""
    file = plan_file(name)
    written = read_toml(file)
    (dataset, source), *_ = written["datasets"].items()
    plan = read_plan(file, changes, {} if source == DEMO else {dataset: str(_place(name, dataset, data))})
    if plan.scale == written["scale"]:
        return plan
    parts = [part.model_copy(update={"training": "own-epochs"}) for part in plan.section if part.training == "recipe"]
    smaller = {part.name: part for part in parts}
    return plan.model_copy(update={"section": tuple(smaller.get(part.name, part) for part in plan.section)})


def _place(name: str, dataset: str, data: Path | None) -> Path:
    if data is None:
        words = f"{name} is measured on {dataset}, which does not come with the package; say in which folder it lies."
        raise SettingsError(words, arguments=("data",))
    found = data / dataset if (data / dataset).exists() else data
    if not found.exists():
        raise SettingsError(f"{data}: is not there; {name} needs the folder of {dataset}.", arguments=("data",))
    return found
