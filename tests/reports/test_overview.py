from __future__ import annotations

from sidrec.reports.overview import data_table, facts


def test_budget_seeds_and_protocol_are_stated(bench):
    found = dict(facts(bench))
    assert found["seeds"] == "0, 1"
    assert "no evidence" in found["scale"]
    assert found["budget"] == "at most 2 epochs of training for every model"
    assert "kept among the candidates" in found["ranking"]
    assert found["work"].startswith("10 cells from 6 trained models")


def test_our_data_stands_above_the_papers(bench):
    table = data_table([bench, bench])
    names = [row[0].text for row in table.rows]
    assert names == ["shop", "Scientific", "Instrument", "Game"]
    assert [entry.text for entry in table.rows[0][2:5]] == ["24", "20", "192"]
    assert table.rows[1][6].text == "8.10" and table.rows[1][2].mark == "muted"
