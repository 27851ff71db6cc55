from __future__ import annotations

import pytest

from reference.made_up_runs import made_up_row, made_up_section
from sidrec.reports.summary import compare_pairs, summarise

HITS, MISSES = [0] * 30, [-1] * 30


def test_means_intervals_and_spread_over_seeds():
    runs = made_up_section(made_up_row("a", HITS, MISSES), made_up_row("b", HITS))
    a, b = summarise(runs).rows
    assert a.figures["recall@1"].value == 0.5
    assert a.figures["recall@1"].spread == pytest.approx(0.5**0.5)
    assert (a.figures["recall@1"].interval.low, a.figures["recall@1"].interval.high) == (0.5, 0.5)  # users agree
    assert (b.figures["recall@1"].value, b.figures["recall@1"].spread) == (1.0, 0.0)


def test_a_clear_difference_is_real_and_has_a_direction():
    base, better, same = made_up_row("base", MISSES), made_up_row("up", [0] * 20 + [-1] * 10), made_up_row("0", MISSES)
    found = {row.row.label: row.against for row in summarise(made_up_section(base, better, same)).rows}
    assert found["base"] is None
    assert found["up"].verdict == "better" and found["up"].difference == pytest.approx(2 / 3)
    assert found["0"].verdict == "could be chance" and found["0"].p == 1.0
    (worse,) = compare_pairs(made_up_section(base, better), [("base", "up")])
    assert worse.verdict == "worse" and worse.difference == pytest.approx(-2 / 3)


def test_one_user_more_is_no_difference():
    base, one = made_up_row("base", MISSES), made_up_row("one", [0] + [-1] * 29)
    assert summarise(made_up_section(base, one)).rows[1].against.verdict == "could be chance"


def test_p_grows_with_the_number_of_questions():
    base, row = made_up_row("base", MISSES), made_up_row("row", [0] * 6 + [-1] * 24)
    (alone,) = compare_pairs(made_up_section(base, row), [("row", "base")])
    several = compare_pairs(made_up_section(base, row), [("row", "base"), ("row", "base"), ("row", "base")])
    assert several[0].p == pytest.approx(3 * alone.p)


def test_a_row_that_was_not_measured_has_no_figures():
    summary = summarise(made_up_section(made_up_row("base", HITS), made_up_row("gone")))
    assert summary.rows[1].figures == {} and summary.rows[1].against is None
    assert summary.ranked("recall@1") == ["base"]
