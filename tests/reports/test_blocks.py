from __future__ import annotations

from sidrec.reports.blocks import Charts, Facts, Heading, UserBlock, Words
from sidrec.reports.examples import UserExample

USER = UserExample("u", ["a & b", "c"], "d", ["x", "d"], 2, ["Step 1 of 1: <slot>"])


def test_nothing_a_catalogue_says_becomes_markup():
    page = UserBlock(1, USER).html()
    assert "a &amp; b" in page and "&lt;slot&gt;" in page and "<slot>" not in page
    assert Words("<b>").html() == "<p>&lt;b&gt;</p>"
    assert Facts((("a", "<b>"),)).html() == "<dl><dt>a</dt><dd>&lt;b&gt;</dd></dl>"


def test_the_item_that_came_next_is_marked_in_the_list():
    assert "<li class=hit>d</li>" in UserBlock(1, USER).html()
    assert "2. d **(came next)**" in UserBlock(1, USER).markdown()
    missed = UserExample("u", ["a"], "d", ["x"], None, [])
    assert "not in the list" in UserBlock(1, missed).html()


def test_markdown_points_at_the_pictures():
    charts = Charts(("<svg/>", "<svg></svg>"), "here")
    assert charts.markdown() == "![here-1](here-1.svg) ![here-2](here-2.svg)\n"
    assert charts.files() == {"here-1.svg": "<svg/>", "here-2.svg": "<svg></svg>"}
    assert Heading("A", "a", 3).markdown() == "### A\n"
