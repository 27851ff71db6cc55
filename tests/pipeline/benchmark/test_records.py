from __future__ import annotations

import pytest

from sidrec.pipeline.benchmark.records import CellRecord


def record(**values) -> CellRecord:
    base = {"name": "s/d/l-seed0", "section": "s", "label": "l", "dataset": "d", "seed": 0, "status": "done"}
    return CellRecord(**{**base, **values})


def test_a_record_comes_back(tmp_path):
    ours = record(figures={"recall@10": 0.5}, training={"epochs": 2, "seconds": 1.5})
    ours.write(tmp_path / "deep" / "r.json")
    assert CellRecord.read(tmp_path / "deep" / "r.json") == ours


@pytest.mark.parametrize("text", ["", "{", '{"name": "x"}', '{"strange": 1}'])
def test_a_damaged_record_is_no_record(tmp_path, text):
    (tmp_path / "r.json").write_text(text, encoding="utf-8")
    assert CellRecord.read(tmp_path / "r.json") is None
    assert CellRecord.read(tmp_path / "none.json") is None


def test_lines_say_what_became_of_a_cell():
    done = record(figures={"ndcg@10": 0.25}, training={"seconds": 2.0}, judging_seconds=1.0)
    assert done.line() == "s | d | l | seed 0: ndcg@10 0.2500, trained 2.0 s, judged 1.0 s"
    assert "FAILED: no memory" in record(status="failed", message="no memory").line()
    assert "already done" in record(status="skipped").line()
