from __future__ import annotations

import json

from reference.hostile_words import TITLES, steering
from sidrec.cli import console


def test_a_table_shows_every_word_as_it_is(capsys):
    rows = [(number, title, None) for number, title in enumerate(TITLES)]
    console.show_table("[/bold] a \x1b[1mtitle", ["n", "[red]title", "x"], rows)
    out = capsys.readouterr().out
    assert not steering(out)
    for shown in ("Lamp [upgraded version]", "[/red]", ":smile: {curly} %s \\", "[red]title", "\\x1b[31mred"):
        assert shown in out
    assert "two lines and a tab" in out and "[/bold] a \\x1b[1mtitle" in out


def test_a_line_stays_a_line(capsys):
    for title in TITLES:
        console.say(f"have {title}")
    out = capsys.readouterr().out
    assert not steering(out) and out.count("\n") == len(TITLES)
    console.wrote("a\x1bb", "c\nd")
    assert capsys.readouterr().out == "wrote a\\x1bb\nnext: c d\n"


def test_json_keeps_the_words_and_steers_nothing(capsys):
    value = {"titles": [*TITLES, "half \ud83d", "tag \U000e0041", "é 日本"]}
    console.show_json(value)
    out = capsys.readouterr().out
    assert json.loads(out) == value
    assert not steering(out) and out.count("\n") == 1 and "é 日本" in out
    out.encode()


def test_a_complaint_may_have_lines_but_no_codes(capsys):
    console.complain("first: \x1b[2J\nsecond")
    assert capsys.readouterr().err == "sidrec: first: \\x1b[2J\nsecond\n"


def test_numbers_and_nothing_are_readable(capsys):
    console.show_table("t", ["a", "b", "c"], [(1234567, 0.5, True), (2, 0.25, False)])
    out = capsys.readouterr().out
    assert "1,234,567" in out and "0.5000" in out and "yes" in out


def test_a_next_command_leads_to_a_free_place(tmp_path):
    place = tmp_path / "ids"
    assert console.free(place) == place
    place.mkdir()
    (tmp_path / "ids-2").touch()
    assert console.free(place) == tmp_path / "ids-3"
