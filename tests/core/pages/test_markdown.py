from __future__ import annotations

import pytest

from sidrec.core.pages.markdown import cell, code_block, text


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("Lamp", "Lamp"),
        ("history_mask_weight = 3", "history_mask_weight = 3"),
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)>"),
        ("![x](http://a/b.png)", "!\\[x\\](http://a/b.png)"),
        ("# big", "\\# big"),
        ("- a list", "\\- a list"),
        ("1. first", "\\1. first"),
        ("a\nb", "a b"),
        ("&lt;", "&amp;lt;"),
        ("`code` *b*", "\\`code\\` \\*b\\*"),
    ],
)
def test_text_reads_as_it_is(words, written):
    assert text(words) == written


def test_a_cell_stays_one_cell_and_keeps_its_sign():
    assert cell("a|b\nc") == "a\\|b c"
    assert cell("-0.1") == "-0.1"


def test_a_fence_cannot_be_closed_from_inside():
    assert code_block("a\n```\nb") == "````text\na\n```\nb\n````\n"
    assert code_block("a\x1bb") == "```text\na\\x1bb\n```\n"
