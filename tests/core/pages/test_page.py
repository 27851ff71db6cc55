from __future__ import annotations

from importlib import resources

import pytest
from jinja2 import UndefinedError

from reference.html_check import PageReader
from sidrec.core.pages.blocks import Facts, Heading, Words
from sidrec.core.pages.fill import fill
from sidrec.core.pages.page import render_page
from sidrec.core.pages.tables import Entry, Table

HOSTILE = "<script>alert('x')</script><!-- \" --></title></main>"


def test_the_page_links_its_sections_and_fetches_nothing():
    page = render_page("A < B", [Heading("One", "one"), Words("x"), Heading("Deep", "deep", 3)])
    assert "<title>A &lt; B</title>" in page
    assert '<a href="#one">One</a>' in page and "#deep" not in page
    assert "http" not in page and "src=" not in page and "@import" not in page
    assert PageReader(page).tags.count("h1") == 1


def test_a_page_without_sections_has_no_links():
    assert "<nav>" not in render_page("A", [Words("x")])


def test_hostile_words_stay_words_wherever_they_stand():
    table = Table(HOSTILE, (HOSTILE, "b"), ((Entry(HOSTILE, (HOSTILE,)), Entry("1", number=True)),), (), HOSTILE)
    blocks = [Heading(HOSTILE, HOSTILE), Words(HOSTILE, "note"), Facts(((HOSTILE, HOSTILE),)), table]
    read = PageReader(render_page(HOSTILE, blocks))
    assert "script" not in read.tags and read.tags.count("title") == 1
    assert read.text.count("alert('x')") == 11


def test_signs_that_steer_are_shown_not_sent():
    assert str(fill("words.html", words=Words("a\x1b[31m\u202eb\nc"))) == "<p>a\\x1b[31m\\u202eb c</p>"


def test_a_template_that_asks_for_something_not_given_fails_loudly():
    with pytest.raises(UndefinedError):
        fill("words.html")


@pytest.mark.parametrize(
    ("room", "names"),
    [
        ("sidrec.core.pages", "page.html page.css table.html heading.html words.html facts.html charts.html"),
        ("sidrec.reports", "user.html"),
        ("sidrec.sids", "shared_codes.html"),
    ],
)
def test_templates_are_part_of_the_package(room, names):
    found = {file.name for file in (resources.files(room) / "templates").iterdir()}
    assert found == set(names.split())
