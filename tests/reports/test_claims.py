from __future__ import annotations

from reference.made_up_runs import made_up_row, made_up_section
from sidrec.reports.claims import check_claim
from sidrec.reports.published import Claim

GOOD, BAD, NEARLY = [0] * 20 + [-1] * 10, [-1] * 30, [0] * 19 + [-1] * 11


def verdict(*pairs: tuple[str, str]):
    runs = made_up_section(made_up_row("good", GOOD), made_up_row("bad", BAD), made_up_row("nearly", NEARLY))
    return check_claim(Claim("s", "text", pairs), runs)


def test_agreement_disagreement_and_chance_are_told_apart():
    found = verdict(("good", "bad"), ("bad", "good"), ("good", "nearly"), ("nearly", "good"))
    words = ["agrees", "disagrees", "leans the same way, could be chance", "leans the other way, could be chance"]
    assert [finding.words for finding in found.findings] == words
    assert found.words == "1 of 4 comparisons agree, 1 disagree, 2 could be chance"


def test_rows_that_were_not_measured_are_left_out_and_said():
    assert verdict(("good", "absent")).words.startswith("not tested here")
    assert [finding.worse for finding in verdict(("good", "absent"), ("good", "bad")).findings] == ["bad"]
