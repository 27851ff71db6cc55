"""docs/scale.md rests on a simulation whose answers are known where nothing goes wrong."""

from __future__ import annotations

import importlib.util
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidrec.data.dataset import Dataset

TOP = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scale_simulation", TOP / "benchmarks" / "scale_simulation.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_without_failures_and_stragglers_it_is_a_division(simulation):
    fleet = simulation.Fleet(4, cores=10, days_between_failures=1e9, straggle=0.0)
    rng = np.random.default_rng(0)
    assert simulation.batch_hours(400, fleet, rng) == pytest.approx(10.0)
    assert simulation.training_hours(400, fleet, rng, every_h=1.0, write_h=0.0) == pytest.approx(10.0)


def test_failures_cost_training_more_than_a_batch(simulation):
    fleet = simulation.Fleet(32, days_between_failures=1.0, straggle=0.0)
    batch, training = (simulation.mean_hours(kind, 5_000, fleet, 10) for kind in ("batch", "training"))
    assert 5_000 / 32 / 32 < batch < training


def test_the_page_names_the_scripts():
    page = (TOP / "docs" / "scale.md").read_text(encoding="utf-8")
    for name in ("growth.py", "scale_simulation.py"):
        assert f"benchmarks/{name}" in page and (TOP / "benchmarks" / name).is_file()


def test_three_tables_of_another_program_become_a_dataset(tmp_path):
    """As the page says: plain parquet, and the page's own lines that seal it."""
    tables = {
        "catalog": {"item_id": ["a", "b", "c"], "title": ["A", "B", "C"]},
        "users": {"user_id": ["u", "v"], "length": [3, 3], "train_end": [1, 1], "validation_end": [2, 2]},
        "events": {"item": [0, 1, 2, 2, 1, 0], "timestamp": [1, 2, 3, 4, 5, 6]},
    }
    (tmp_path / "data").mkdir()
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), tmp_path / "data" / f"{name}.parquet")
    page = (TOP / "docs" / "scale.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)\n *```", page, re.DOTALL)
    exec(textwrap.dedent(code).replace('"data"', repr(str(tmp_path / "data"))), {})
    data = Dataset.load(tmp_path / "data")
    assert data.history("v") == ["c", "b", "a"]
    assert data.cases("test").targets.tolist() == [2, 0]
