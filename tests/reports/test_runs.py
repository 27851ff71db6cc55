from __future__ import annotations

import shutil

import numpy as np
import pytest

from sidrec.core.errors import InputError
from sidrec.evaluation.results import Evaluation
from sidrec.reports.runs import read_benchmarks


def row_of(bench, section, label):
    (found,) = [row for s in bench.sections if s.section.name == section for row in s.rows if row.label == label]
    return found


def test_rows_have_their_seeds_and_problems(bench):
    assert [record.seed for record in row_of(bench, "main-table", "llada-rec").records] == [0, 1]
    broken = row_of(bench, "main-table", "no room")
    assert broken.test == () and len(broken.problems) == 2
    assert broken.problems[0].startswith("seed0 failed: ")
    assert any("no room" in problem for problem in bench.problems)


def test_per_user_values_are_means_over_the_seeds(bench, out):
    row = row_of(bench, "main-table", "sasrec-ce")
    ranks = [Evaluation.load(out / record.test).ranks["rank"].to_list() for record in row.records]
    expected = [sum(0 <= rank < 5 for rank in user) / 2 for user in zip(*ranks, strict=True)]
    assert row.per_user("recall@5").tolist() == expected
    assert np.mean(row.seed_means("recall@5")) == pytest.approx(np.mean(expected))


def test_metrics_stand_as_in_the_paper(bench):
    section = bench.sections[0]
    assert section.metrics() == ["recall@1", "recall@5", "recall@10", "ndcg@5", "ndcg@10"]
    assert section.judge == "ndcg@10"


def test_an_unfinished_cell_is_a_problem_and_not_an_error(out, tmp_path):
    shutil.copytree(out, tmp_path / "runs")
    (tmp_path / "runs" / "cells" / "main-table" / "shop" / "popularity-seed1.json").unlink()
    row = row_of(read_benchmarks([tmp_path / "runs"])[0], "main-table", "popularity")
    assert [record.seed for record in row.records] == [0]
    assert "seed1 has not run; run the benchmark again" in row.problems[0]


def test_a_damaged_evaluation_is_a_problem_of_its_row(out, bench, tmp_path):
    shutil.copytree(out, tmp_path / "runs")
    record = row_of(bench, "main-table", "popularity").records[0]
    (tmp_path / "runs" / record.test / "ranks.parquet").write_bytes(b"")
    row = row_of(read_benchmarks([tmp_path / "runs"])[0], "main-table", "popularity")
    assert "ranks.parquet" in row.problems[0]


def test_nothing_finished_is_nothing_to_report(out, tmp_path):
    (tmp_path / "runs").mkdir()
    shutil.copy(out / "plan.json", tmp_path / "runs" / "plan.json")
    with pytest.raises(InputError, match="no cell of these benchmarks is finished"):
        read_benchmarks([tmp_path / "runs"])
