"""Benchmarks read back: their plans, and for every row of every section what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import ArtifactError, InputError
from sidrec.data.dataset import Dataset
from sidrec.evaluation.figures import per_user_metrics
from sidrec.evaluation.results import Evaluation
from sidrec.pipeline.benchmark.cells import Places, cell_name
from sidrec.pipeline.benchmark.plan import Plan, Section
from sidrec.pipeline.benchmark.records import CellRecord
from sidrec.pipeline.benchmark.run_files import read_plan_of

Values = NDArray[np.float64]


@dataclass(frozen=True)
class RowRuns:
    """A row with all its seeds; `problems` says what is missing."""

    label: str
    model: str
    x: float | None
    records: tuple[CellRecord, ...]
    test: tuple[Evaluation, ...]
    problems: tuple[str, ...]

    def per_user(self, metric: str) -> Values:
        """Each user's value, averaged over the seeds."""
        ks = tuple(sorted(self.test[0].recall))
        of_ranks = per_user_metrics(ks)[metric]
        users = self.test[0].ranks["user_id"]
        if any(not run.ranks["user_id"].equals(users) for run in self.test):
            raise ArtifactError(f"{self.label}: its seeds were judged on different users; run the benchmark again.")
        mean: Values = np.mean([of_ranks(run.ranks["rank"].to_numpy()) for run in self.test], axis=0)
        return mean

    def seed_means(self, metric: str) -> list[float]:
        return [run.metrics[metric] for run in self.test]


@dataclass(frozen=True)
class SectionRuns:
    """One section of a plan on one data set."""

    out: Path
    plan: Plan
    section: Section
    dataset: str
    rows: tuple[RowRuns, ...]

    @property
    def published_dataset(self) -> str | None:
        return self.plan.datasets[self.dataset].published

    @property
    def name(self) -> str:
        return f"{self.section.name}-{self.dataset}"

    @property
    def measured(self) -> list[RowRuns]:
        return [row for row in self.rows if row.test]

    def metrics(self) -> list[str]:
        """Recall at every k, then NDCG at every k above 1."""
        ks = sorted(self.plan.ks)
        return [f"recall@{k}" for k in ks] + [f"ndcg@{k}" for k in ks if k > 1]

    @property
    def judge(self) -> str:
        """The metric that rows are compared by."""
        return self.metrics()[-1]


@dataclass(frozen=True)
class Benchmark:
    """A benchmark's directory."""

    out: Path
    plan: Plan
    sections: tuple[SectionRuns, ...]

    @property
    def records(self) -> list[CellRecord]:
        return [record for section in self.sections for row in section.rows for record in row.records]

    @property
    def problems(self) -> list[str]:
        found = [
            f"{section.section.name}, {section.dataset}, {row.label}: {problem}"
            for section in self.sections
            for row in section.rows
            for problem in row.problems
        ]
        return list(dict.fromkeys(found))

    def data(self, dataset: str) -> Dataset:
        return Dataset.load(Places(self.out).data(dataset))


def read_benchmarks(paths: Sequence[Path]) -> list[Benchmark]:
    """Every benchmark, cell by cell; unfinished and failed cells are problems of their row, not errors."""
    found = [_benchmark(Path(path)) for path in paths]
    if not any(row.test for bench in found for section in bench.sections for row in section.rows):
        raise InputError("no cell of these benchmarks is finished, so there is nothing to report; run them first.")
    return found


def _benchmark(out: Path) -> Benchmark:
    places = Places(out)
    plan = read_plan_of(places)
    sections = []
    for section in plan.section:
        for dataset in plan.datasets:
            rows = []
            for row in section.rows():
                seeds = plan.seeds_of(section, row)
                names = [cell_name(section.name, dataset, row.label, seed) for seed in seeds]
                rows.append(_row(out, row.model, row.x, {name: places.record_of(name) for name in names}, row.label))
            sections.append(SectionRuns(out, plan, section, dataset, tuple(rows)))
    return Benchmark(out, plan, tuple(sections))


def _row(out: Path, model: str, x: float | None, files: dict[str, Path], label: str) -> RowRuns:
    records, runs, problems = [], [], []
    for name, file in files.items():
        record = CellRecord.read(file)
        if record is None:
            problems.append(f"{name.rpartition('-')[2]} has not run; run the benchmark again, it will go on.")
        elif record.status == "failed":
            problems.append(f"{name.rpartition('-')[2]} failed: {record.message}")
        else:
            try:
                runs.append(Evaluation.load(out / record.test))
                records.append(record)
            except ArtifactError as error:
                problems.append(str(error))
    return RowRuns(label, model, x, tuple(records), tuple(runs), tuple(problems))
