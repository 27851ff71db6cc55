from __future__ import annotations

from reference.made_up_runs import made_up_row, made_up_section
from sidrec.reports.claims import check_claim
from sidrec.reports.published import Claim, PublishedTable
from sidrec.reports.section_tables import claim_table, figures_table, others_table
from sidrec.reports.summary import summarise

BESIDE = PublishedTable("LLaDA-Rec paper, main table", "s", "Scientific", {"good": {"recall@1": 0.0123}})
ROWS = (made_up_row("good", [0] * 20 + [-1] * 10), made_up_row("bad", [-1] * 30), made_up_row("gone"))


def table(published: str | None = None, beside: PublishedTable | None = BESIDE):
    return figures_table(summarise(made_up_section(*ROWS, published=published)), beside)


def test_the_papers_figure_stands_beneath_ours_only_where_there_is_one():
    good, bad, _ = table().rows
    assert good[1].text == "0.6667" and good[1].below[-1] == "paper 0.0123"
    assert all("paper" not in line for entry in bad[1:4] for line in entry.below)
    assert bad[0].below == ("llada-rec", "not in the paper")


def test_another_data_set_is_called_so_and_the_same_is_too():
    assert "another data set than d" in table().note
    assert "the same data set" in table(published="Scientific").note
    assert "prints no numbers" in table(beside=None).note


def test_no_cell_is_empty_and_a_missing_row_says_so():
    for row in table().rows:
        assert all(entry.text.strip() for entry in row)
    assert {entry.text for entry in table().rows[2][1:4]} == {"not measured"}
    assert all(text for line in table().plain for text in line)
    assert len({len(line) for line in table().plain}) == 1


def test_marks_and_difference_to_the_baseline():
    good, bad, _ = table().rows
    assert (good[1].mark, bad[1].mark) == ("best", "second")
    assert good[4].text == "baseline"
    assert bad[4].text == "-0.6667" and bad[4].mark == "bad" and bad[4].below[1].startswith("worse, p ")


def test_others_figures_are_whole():
    found = others_table("o", [PublishedTable("x", "s", "d", {"tiger": {"recall@5": 0.5}})])
    assert found.plain[1] == ("x", "tiger", "0.5000", "not published", "not published", "not published")


def test_a_claim_is_shown_pair_by_pair():
    runs = made_up_section(*ROWS)
    found = claim_table("c", check_claim(Claim("s", "t", (("bad", "good"),)), runs), "ndcg@2")
    assert found.plain[1][:3] == ("bad", "good", "-0.6667")
    assert found.rows[0][-1].mark == "bad" and found.rows[0][-1].text == "disagrees"
