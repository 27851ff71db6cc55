from __future__ import annotations

from dataclasses import replace

import pytest

from lose_a_machine import plain
from reference.small_plan import small_plan, small_shop
from sidrec.cluster.experiments import Resources, on_ray, resources
from sidrec.core.progress import SilentProgress
from sidrec.evaluation.results import Evaluation
from sidrec.pipeline.benchmark.cells import cells_of
from sidrec.pipeline.benchmark.runner import benchmark
from sidrec.pipeline.benchmark.tasks import Task, model_tasks, shared_tasks


def test_only_what_trains_asks_for_a_gpu_and_only_where_there_is_one(tmp_path):
    cells = cells_of(small_plan(small_shop(tmp_path)))
    popularity, sasrec, *_ = model_tasks(cells)
    assert resources(sasrec, {"CPU": 4, "GPU": 1}, 2) == Resources(cpus=2, gpus=1)
    assert resources(sasrec, {"CPU": 4}, 1) == resources(popularity, {"CPU": 4, "GPU": 1}, 1) == Resources(1, 0)
    wanting = Task("model", sasrec.stage, tuple(_on_cuda(cell) for cell in sasrec.cells))
    assert resources(wanting, {"CPU": 4}, 1) == Resources(1, 0)  # it runs, and says that there is none
    assert resources(shared_tasks(cells, 0)[0], {"GPU": 1}, 1) == Resources(1, 0)


def _on_cuda(cell):
    training = {**cell.recipe.values.get("training", {}), "device": "cuda"}
    return replace(cell, recipe=replace(cell.recipe, values={**cell.recipe.values, "training": training}))


class _Killing(SilentProgress):
    """Loses a machine as soon as the first cell is through."""

    def __init__(self, kill) -> None:
        self._kill = kill

    def note(self, text: str) -> None:
        if text.startswith("[2/"):
            self._kill()


@pytest.fixture
def cluster(monkeypatch):
    from sidrec.cluster.session import import_ray

    ray = import_ray()
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.added = made.add_node(num_cpus=1)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.mark.slow
def test_a_machine_is_lost_in_the_middle_and_the_records_are_those_of_one_machine(cluster, tmp_path):
    plan = small_plan(small_shop(tmp_path))
    here = benchmark(plan, tmp_path / "here")
    lost = _Killing(lambda: cluster.remove_node(cluster.added, allow_graceful=False))
    there = benchmark(plan, tmp_path / "there", engage=on_ray(), progress=lost)
    assert [plain(record) for record in there.records] == [plain(record) for record in here.records]
    for record in (record for record in here.records if record.status == "done"):
        ours, theirs = (Evaluation.load(tmp_path / place / record.test).ranks for place in ("here", "there"))
        assert ours.equals(theirs)
    files = [
        {str(p.relative_to(tmp_path / place)) for p in (tmp_path / place).rglob("*")} for place in ("here", "there")
    ]
    assert files[0] == files[1]
