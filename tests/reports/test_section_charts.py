from __future__ import annotations

import json

from reference.made_up_runs import made_up_row, made_up_section
from sidrec.reports.section_charts import learning_chart, read_history, result_charts
from sidrec.reports.summary import summarise

HALF = [0] * 5 + [-1] * 5


def test_rows_on_an_axis_are_a_curve_in_the_axis_order():
    rows = (made_up_row("two", HALF, x=2), made_up_row("one", [-1] * 10, x=1))
    recall, ndcg = result_charts(summarise(made_up_section(*rows, axis="steps")))
    assert "Recall@2" in recall and "NDCG@2" in ndcg and "polyline" in recall and ">steps<" in recall


def test_other_rows_are_bars_and_missing_ones_are_left_out():
    charts = result_charts(summarise(made_up_section(made_up_row("a", HALF), made_up_row("gone"))))
    assert all("<rect" in chart and ">gone<" not in chart for chart in charts)


def test_learning_is_read_from_the_models(bench):
    main, steps = (summarise(section) for section in bench.sections)
    chart = learning_chart(main)
    assert ">sasrec-ce<" in chart and ">llada-rec<" in chart and ">popularity<" not in chart
    assert learning_chart(steps) is None  # one model, searched in two ways


def test_history_of_a_model_that_is_not_trained_is_empty(tmp_path):
    assert read_history(tmp_path) == []
    (tmp_path / "history.jsonl").write_text(json.dumps({"epoch": 1}) + "\n\n", encoding="utf-8")
    assert read_history(tmp_path) == [{"epoch": 1}]
