from __future__ import annotations

from dataclasses import replace

import pytest

from reference.made_up_runs import made_up_row, made_up_section
from sidrec.reports.against import against_table, references_of
from sidrec.reports.runs import SectionRuns
from sidrec.reports.summary import summarise

ROWS = (made_up_row("good", [0] * 20 + [-1] * 10), made_up_row("bad", [-1] * 30), made_up_row("gone"))


def against(*labels: str) -> SectionRuns:
    runs = made_up_section(*ROWS)
    return replace(runs, section=runs.section.model_copy(update={"against": labels}))


def test_the_best_row_is_called_by_its_name_and_stands_once():
    assert references_of(summarise(against("bad", "best"))) == ["bad", "good"]
    assert references_of(summarise(against("good", "best"))) == ["good"]


def test_every_row_is_compared_with_every_reference_but_itself():
    table = against_table("a", summarise(against("bad", "best")))
    assert table.columns == ("row", "against", "Recall@2", "NDCG@2")
    lines = {(row[0].text, row[1].text): row for row in table.rows}
    assert set(lines) == {("good", "bad"), ("bad", "good"), ("gone", "bad"), ("gone", "good")}
    assert (lines["good", "bad"][2].text, lines["good", "bad"][2].mark) == ("+0.6667", "good")
    assert (lines["bad", "good"][3].text, lines["bad", "good"][3].mark) == ("-0.6667", "bad")
    assert {entry.text for entry in lines["gone", "bad"][2:]} == {"not measured"}
    assert ("good", "bad", "recall@2", "0.666667") in [line[:4] for line in table.plain]
    assert len({len(line) for line in table.plain}) == 1


def test_a_row_that_nobody_knows_is_refused():
    section = made_up_section(*ROWS).section
    with pytest.raises(ValueError, match="against names 'nobody', which is no row"):
        type(section).model_validate({**section.model_dump(), "against": ["good", "nobody"]})
