from __future__ import annotations

from sidrec.reports.blocks import Heading, Words
from sidrec.reports.page import render


def test_the_page_links_its_sections_and_fetches_nothing():
    page = render("A < B", [Heading("One", "one"), Words("x"), Heading("Deep", "deep", 3)])
    assert "<title>A &lt; B</title>" in page
    assert '<a href="#one">One</a>' in page and "#deep" not in page
    assert "http" not in page and "src=" not in page and "@import" not in page
