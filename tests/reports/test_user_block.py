from __future__ import annotations

from reference.html_check import PageReader
from sidrec.reports.examples import UserExample
from sidrec.reports.user_block import UserBlock

USER = UserExample("u", ["a & b", "c"], "d", ["x", "d"], 2, ["Step 1 of 1: <slot>", "  deeper"])


def test_nothing_a_catalogue_says_becomes_markup():
    page = UserBlock(1, USER).html()
    assert "a &amp; b" in page and "&lt;slot&gt;" in page and "<slot>" not in page
    assert "<pre>\nStep 1 of 1: &lt;slot&gt;\n  deeper\n</pre>" in page
    PageReader(page)
    hostile = UserExample("u", ["<script>"], "<script>", ["<script>"], None, ["```\n<script>"])
    assert "script" not in PageReader(UserBlock(1, hostile).html()).tags
    shown = UserBlock(1, hostile).markdown()
    assert "<script>" not in shown[: shown.index("````text")] and shown.endswith("````\n")


def test_the_item_that_came_next_is_marked_in_the_list():
    assert '<li class="hit">d</li>' in UserBlock(1, USER).html()
    assert "2. d **(came next)**" in UserBlock(1, USER).markdown()
    assert "place 2 of the list" in UserBlock(1, USER).markdown()
    missed = UserExample("u", ["a"], "d", ["x"], None, [])
    assert "not in the list" in UserBlock(1, missed).html()
