from __future__ import annotations

import pytest

from sidrec.core.plain_text import many_lines, one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Lamp [upgraded version]", "Lamp [upgraded version]"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\r\nb\tc", "a b c"),
        ("a\u2028b\x85c", "a b c"),
        ("safe\u202eexe.txt", "safe\\u202eexe.txt"),
        ("\x9b31m\x07", "\\x9b31m\\x07"),
        ("half \ud83d", "half \\ud83d"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("نمی\u200cخواهم 👩\u200d👧 café 日本", "نمی\u200cخواهم 👩\u200d👧 café 日本"),
    ],
)
def test_words_are_shown_and_never_steer(text, shown):
    assert one_line(text) == shown
    shown.encode()


def test_our_own_line_breaks_stay():
    assert many_lines("a\nb\x1bc\n") == "a\nb\\x1bc\n"
