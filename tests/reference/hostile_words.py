"""Titles, ids and paths that look like something else: terminal markup, escape codes, HTML, formulas, shell."""

from __future__ import annotations

import re

TITLES = [
    "Lamp [upgraded version]",
    "[/red]",
    "[link=file:///etc/passwd]click[/link]",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "safe\u202eexe.txt",
    "two\nlines\tand a tab",
    "<script>alert('x')</script>",
    "=HYPERLINK(1)|x",
    "# heading `code` ![x](http://evil/x.png)",
    ":smile: {curly} %s \\",
    "\x9b31m\u2028next\u200f",
    "```\nfence",
]
IDS = ["[/red]", "\x1b[1mbold", "a,b", "new\nline", "$(touch x)", "\u202eid", *(f"plain-{n}" for n in range(6))]
FOLDER = "a [red]place[bold] \u202eof $(ls) :smile:"

_STEERS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def steering(text: str) -> list[str]:
    """Characters that would steer a terminal; line breaks of our own are fine."""
    return _STEERS.findall(text)
