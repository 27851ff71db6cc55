from __future__ import annotations

import shutil

import pytest

from reference.other_writer import other_writer
from reference.small_plan import small_plan, small_shop
from sidrec.core.artifacts import open_artifact
from sidrec.core.errors import StorageError
from sidrec.data.dataset import Dataset
from sidrec.evaluation.evaluate import evaluate
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.evaluation.results import Evaluation
from sidrec.models.registry import load_model
from sidrec.pipeline.benchmark.cells import Places
from sidrec.pipeline.benchmark.runner import benchmark

pytestmark = pytest.mark.slow


class Lines:
    """Progress that keeps its notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def task(self, name, total=None):
        from sidrec.core.progress import SilentProgress

        return SilentProgress().task(name, total)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return small_shop(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def ran(tmp_path_factory, shop):
    """The plan, the directory, the result of a first run, and its notes."""
    lines, plan, out = Lines(), small_plan(shop), tmp_path_factory.mktemp("run") / "out"
    return plan, out, benchmark(plan, out, progress=lines), lines.notes


@pytest.fixture
def copy(ran, tmp_path):
    """A copy of the finished benchmark, to be damaged."""
    shutil.copytree(ran[1], tmp_path / "out")
    return tmp_path / "out"


def test_one_failure_is_recorded_and_the_others_go_on(ran):
    _, _, result, notes = ran
    by_label = {record.label: record for record in result.records}
    assert [record.label for record in result.failed] == ["no room"]
    assert "20 items" in by_label["no room"].message or "room" in by_label["no room"].message
    assert [by_label[label].status for label in ("popularity", "sasrec-ce", "llada-rec", "1 steps")] == ["done"] * 4
    assert len(notes) == len(result.records) == 6
    assert sum("FAILED" in note for note in notes) == 1


def test_every_cell_leaves_both_evaluations_that_a_plain_evaluation_equals(ran):
    _, out, result, _ = ran
    record = next(record for record in result.records if record.label == "1 steps")
    data = Dataset.load(out / "data" / "shop")
    model = load_model(out / record.model).with_search({"n_steps": 1})
    for split, place in (("test", record.test), ("validation", record.validation)):
        expected = evaluate(model, data, EvaluationSettings(split=split))
        assert Evaluation.load(out / place).metrics == expected.metrics


def test_cells_that_differ_in_the_search_share_one_model(ran):
    _, out, result, _ = ran
    done = [record for record in result.records if record.status == "done"]
    assert len({record.model for record in done}) == 3  # popularity, sasrec-ce, llada-rec
    assert len(list((out / "models").iterdir())) == 3
    assert len({record.test for record in done if "llada" in record.model}) == 3


def test_without_beam_search_there_is_one_answer(ran):
    """The paper's inference ablation: Recall and NDCG do not grow with k."""
    _, out, result, _ = ran
    record = next(record for record in result.records if record.label == "llada-rec")
    data = Dataset.load(out / "data" / "shop")
    found = evaluate(load_model(out / record.model).with_search({"beam_size": 1}), data)
    assert found.recall[10] == found.recall[1] == found.ndcg[10]
    assert (found.ranks["generated"] == 1).all()


def test_finished_cells_are_skipped_and_failed_ones_tried_again(ran, copy):
    lines = Lines()
    result = benchmark(ran[0], copy, progress=lines)
    assert [record.status for record in result.records].count("skipped") == 5
    assert [record.label for record in result.failed] == ["no room"]
    assert sum("already done" in note for note in lines.notes) == 5


def test_a_lost_evaluation_is_made_again_from_the_same_model(ran, copy):
    places = Places(copy)
    gone = next(record for record in ran[2].records if record.label == "1 steps")
    before = open_artifact(copy / gone.test).content
    shutil.rmtree(copy / gone.test)
    trained = (copy / gone.model / "manifest.json").stat().st_mtime_ns
    again = benchmark(ran[0], places.out)
    assert {record.label for record in again.records if record.status == "done"} == {"1 steps"}
    assert (copy / gone.model / "manifest.json").stat().st_mtime_ns == trained
    ranks = Evaluation.load(copy / gone.test).ranks
    assert before and ranks.equals(Evaluation.load(ran[1] / gone.test).ranks)


def test_another_protocol_is_judged_again(ran, copy, shop):
    result = benchmark(small_plan(shop, failing=False, ks=(1, 3)), copy)
    assert {record.status for record in result.records} == {"done"}
    assert set(result.records[0].figures) == {"recall@3", "ndcg@3"}


def test_data_that_cannot_be_had_fails_its_cells_only(ran, copy, shop, tmp_path):
    (tmp_path / "empty").mkdir()
    data = {"shop": {"source": str(shop)}, "other": {"source": str(tmp_path / "empty")}}
    result = benchmark(small_plan(shop, failing=False, datasets=data), copy)
    assert {record.dataset for record in result.failed} == {"other"}
    assert {record.status for record in result.records if record.dataset == "shop"} == {"skipped"}


def test_two_benchmarks_in_one_place_are_refused(tmp_path, shop):
    with other_writer(tmp_path / "out"), pytest.raises(StorageError, match="out: is being written by process"):
        benchmark(small_plan(shop), tmp_path / "out")


@pytest.mark.slow
def test_processes_give_the_same_figures(ran, shop, tmp_path):
    result = benchmark(small_plan(shop), tmp_path / "out", processes=2)
    assert [record.label for record in result.failed] == ["no room"]
    for ours, theirs in zip(result.records, ran[2].records, strict=True):
        assert ours.figures == pytest.approx(theirs.figures)
    assert (tmp_path / "out" / "logs").is_dir()
