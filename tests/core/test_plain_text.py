from __future__ import annotations

import json

import pytest

from sidrec.core.plain_text import in_json, many_lines, one_line, short


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


def test_a_long_text_is_shown_by_its_beginning():
    assert short("a\n") == r"'a\n'"
    assert short("x" * 1_000_000, 3) == "'xxx' ... (1,000,000 characters)"


def test_json_text_means_the_same():
    value = ["\x9b", "\u202e", "\U000e0041", "é", "\n"]
    text = in_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert text == '["\\u009b", "\\u202e", "\\udb40\\udc41", "é", "\\n"]'
