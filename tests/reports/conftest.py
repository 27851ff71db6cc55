from __future__ import annotations

from pathlib import Path

import pytest

from reference.small_plan import small_plan, small_shop
from sidrec.pipeline.benchmark.runner import benchmark
from sidrec.reports.runs import Benchmark, read_benchmarks


@pytest.fixture(scope="session")
def out(tmp_path_factory) -> Path:
    """A finished small benchmark: two seeds, one failing row."""
    folder = tmp_path_factory.mktemp("reports")
    benchmark(small_plan(small_shop(folder), seeds=(0, 1)), folder / "runs")
    return folder / "runs"


@pytest.fixture(scope="session")
def bench(out) -> Benchmark:
    return read_benchmarks([out])[0]
