from __future__ import annotations

from sidrec.core.pages.blocks import Charts, Facts, Heading, Words


def test_nothing_that_is_said_becomes_markup():
    assert Words("<b>").html() == "<p>&lt;b&gt;</p>"
    assert Words("a", "note").html() == '<p class="note">a</p>'
    assert Facts((("a", "<b>"),)).html() == "<dl><dt>a</dt><dd>&lt;b&gt;</dd></dl>"
    assert Words("<b> [a](javascript:x)").markdown() == "&lt;b> \\[a\\](javascript:x)\n"
    assert Facts((("a", "# b"),)).markdown() == "- a: \\# b\n"


def test_markdown_points_at_the_pictures():
    charts = Charts(("<svg/>", "<svg></svg>"), "here")
    assert charts.markdown() == "![here-1](here-1.svg) ![here-2](here-2.svg)\n"
    assert charts.files() == {"here-1.svg": "<svg/>", "here-2.svg": "<svg></svg>"}
    assert charts.html() == '<div class="charts"><figure><svg/></figure><figure><svg></svg></figure></div>'
    assert Heading("A", "a", 3).markdown() == "### A\n"
