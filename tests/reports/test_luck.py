from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from reference.made_up_runs import made_up_row, made_up_section
from sidrec.metrics.significance import Interval
from sidrec.reports.luck import Luck, luck_of_training
from sidrec.reports.summary import compare_pairs


def hits(n: int) -> list[int]:
    """The ranks of 100 users of whom n find their item."""
    return [0] * n + [-1] * (100 - n)


def test_what_a_seed_changes_in_every_row_alike_is_no_luck():
    together = made_up_section(made_up_row("a", hits(40), hits(50)), made_up_row("b", hits(20), hits(30)))
    assert luck_of_training(together, "recall@1") == Luck(pytest.approx(0.0), 1)


def test_the_rest_is_pooled_over_the_rows():
    rows = (made_up_row("a", hits(40), hits(50)), made_up_row("b", hits(30), hits(20)), made_up_row("one", hits(9)))
    found = luck_of_training(made_up_section(*rows), "recall@1")
    # a: -.05 +.05, b: +.05 -.05, no change in common; the row with one seed tells nothing
    assert found == Luck(pytest.approx(np.sqrt(4 * 0.05**2 / 1)), 1)


def test_one_row_alone_has_its_own_spread_and_one_seed_none():
    alone = made_up_section(made_up_row("a", hits(40), hits(50), hits(60)))
    assert luck_of_training(alone, "recall@1") == Luck(pytest.approx(0.1), 2)
    assert luck_of_training(made_up_section(made_up_row("a", hits(40))), "recall@1") is None


def test_both_kinds_of_doubt_add_up_as_squares():
    t = stats.t.ppf(0.975, 5)
    found = Luck(0.02, 5).widen(Interval(0.07, 0.13), 0.1, 2, 4)
    half = np.sqrt(0.03**2 + (t * 0.02) ** 2 * (1 / 2 + 1 / 4))
    assert (found.low, found.high) == (pytest.approx(0.1 - half), pytest.approx(0.1 + half))


def test_a_lead_within_the_luck_of_training_could_be_chance():
    steady = made_up_section(made_up_row("a", hits(60), hits(61)), made_up_row("b", hits(30), hits(30)))
    lucky = made_up_section(made_up_row("a", hits(95), hits(26)), made_up_row("b", hits(30), hits(30)))
    (sure,), (unsure,) = (compare_pairs(runs, [("a", "b")], "recall@1") for runs in (steady, lucky))
    assert sure.verdict == "better" and sure.with_luck.low > 0
    assert unsure.p < 0.05 and unsure.interval.low > 0 > unsure.with_luck.low
    assert unsure.verdict == "could be chance"
