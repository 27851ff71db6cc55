from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from reference.made_up_runs import made_up_row, made_up_section
from sidrec.reports.expected import Expected, allowance, as_toml, check
from sidrec.reports.summary import SectionSummary, summarise


def summary() -> SectionSummary:
    """Row a has Recall@1 of .5 and .7 for two seeds."""
    seeds = ([0] * 5 + [-1] * 5, [0] * 7 + [-1] * 3)
    return summarise(made_up_section(made_up_row("a", *seeds), made_up_row("gone")))


def expected(row: str, value: float, spread: float, scale: str = "small", section: str = "s") -> Expected:
    figures = {
        "section": section,
        "dataset": "d",
        "scale": scale,
        "seeds": 3,
        "rows": {row: {"recall@1": (value, spread)}},
    }
    return Expected.parse({"figures": [figures]}, owner="x")


def test_figures_agree_within_the_spread_of_seeds():
    (one,) = check(expected("a", 0.6, 0.0), [summary()])
    assert one.agrees and one.found == pytest.approx(0.6)
    (far,) = check(expected("a", 0.65, 0.001), [summary()])
    assert not far.agrees
    (wide,) = check(expected("a", 0.65, 0.02), [summary()])
    assert wide.agrees, "4.30 x .02 x sqrt(1/3 + 1/2) = .079"
    assert wide.allowed == pytest.approx(0.0785, abs=1e-4)


def test_what_was_not_measured_does_not_agree():
    assert [one.agrees for one in check(expected("gone", 0.0, 0.5), [summary()])] == [False]
    assert [one.found for one in check(expected("nobody", 0.0, 0.5), [summary()])] == [None]


def test_other_scales_and_sections_are_not_asked_for():
    assert check(expected("a", 0.6, 0.0, scale="paper"), [summary()]) == []
    assert check(expected("a", 0.6, 0.0, section="other"), [summary()]) == []
    assert check(Expected(), [summary()]) == []


def test_more_seeds_allow_less():
    assert allowance(0.01, 3, 3) < allowance(0.01, 3, 1)
    assert allowance(0.01, 5, 3) < allowance(0.01, 3, 3)
    assert allowance(0.0, 1, 1) == pytest.approx(0.001 * 4.3027 * 2**0.5, rel=1e-4), "no spread is known from one seed"


def test_what_was_measured_can_be_committed(tmp_path):
    text = as_toml([summary()])
    assert tomllib.loads(text)["figures"][0]["rows"]["a"]["recall@1"] == [0.6, pytest.approx(0.14142, abs=1e-5)]
    (tmp_path / "e.toml").write_text(text, encoding="utf-8")
    assert all(one.agrees for one in check(Expected.read(tmp_path / "e.toml"), [summary()]))
    assert Expected.read(tmp_path / "nowhere.toml") == Expected()


def test_one_seed_takes_over_the_spread_of_the_others():
    twice = made_up_row("twice", [0] * 5 + [-1] * 5, [0] * 7 + [-1] * 3)
    once, fixed = made_up_row("once", [0] * 4 + [-1] * 6), made_up_row("fixed", [0] * 3 + [-1] * 7)
    untrained = replace(fixed, records=tuple(replace(record, training={}) for record in fixed.records))
    two, one = tomllib.loads(as_toml([summarise(made_up_section(twice, once, untrained))]))["figures"]
    assert (two["seeds"], list(two["rows"])) == (2, ["twice"])
    assert (one["seeds"], list(one["rows"])) == (1, ["once", "fixed"])
    assert one["rows"]["once"]["recall@1"] == [0.4, pytest.approx(0.14142, abs=1e-5)]
    assert one["rows"]["fixed"]["recall@1"] == [0.3, 0.0], "what is not trained has no luck"
