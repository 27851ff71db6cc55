from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.reports.charts import Bar, Line, Point, bar_chart, line_chart, nice_ticks

SVG = "{http://www.w3.org/2000/svg}"


def test_bars_are_as_long_as_their_values():
    picture = ElementTree.fromstring(bar_chart("T & t", [Bar("a<", 0.1, 0.05, 0.2), Bar("b", 0.2, 0.1, 0.3, True)]))
    first, second = (float(bar.get("width")) for bar in picture.iter(f"{SVG}rect"))
    assert abs(second - 2 * first) < 0.2
    said = [text.text for text in picture.iter(f"{SVG}text")]
    assert {"T & t", "a<", "b", "0.1000", "0.2000"} <= set(said)


def test_a_curve_runs_through_its_points_with_a_band():
    points = (Point(1, 0.1, 0.0, 0.2), Point(2, 0.3, 0.2, 0.4), Point(3, 0.2, 0.1, 0.3))
    picture = ElementTree.fromstring(line_chart("t", [Line("a", points)], "x"))
    (curve,), (band,) = picture.iter(f"{SVG}polyline"), picture.iter(f"{SVG}polygon")
    heights = [float(spot.split(",")[1]) for spot in curve.get("points").split()]
    assert heights[0] > heights[2] > heights[1]  # SVG counts downwards
    assert len(band.get("points").split()) == 6


def test_several_curves_have_a_legend_and_one_has_none():
    lines = [Line(name, (Point(1, 1.0), Point(2, 2.0))) for name in ("first", "second")]
    assert re.findall(r">(first|second)<", line_chart("t", lines, "x")) == ["first", "second"]
    assert ">first<" not in line_chart("t", lines[:1], "x")


def test_a_single_flat_point_can_be_drawn():
    ElementTree.fromstring(line_chart("t", [Line("a", (Point(1, 0.0),))], "x"))
    ElementTree.fromstring(bar_chart("t", [Bar("a", 0.0, 0.0, 0.0)]))


@settings(max_examples=60, deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(1e-5, 1e3), st.integers(2, 8))
def test_ticks_enclose_the_range_in_equal_round_steps(low, span, about):
    ticks = nice_ticks(low, low + span, about)
    assert ticks[0] <= low + span * 1e-6 and ticks[-1] >= low + span - span * 1e-6
    steps = {round((b - a) / (ticks[1] - ticks[0]), 3) for a, b in pairwise(ticks)}
    assert steps == {1.0} and 2 <= len(ticks) <= about + 3
