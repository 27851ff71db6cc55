"""Plain text inside Markdown: no HTML, links, pictures or headings that somebody's title brought along."""

from __future__ import annotations

import re

from sidrec.core.plain_text import many_lines, one_line

_ACTIVE = re.compile(r"[\\`*\[\]]")
_LINE_START = re.compile(r"^(\s*)([#>+=~-]|\d+[.)](?=\s))")
_BACKTICKS = re.compile("`+")


def text(words: str) -> str:
    """One line of text that reads as it is."""
    plain = _ACTIVE.sub(r"\\\g<0>", one_line(words)).replace("&", "&amp;").replace("<", "&lt;")
    return _LINE_START.sub(r"\1\\\2", plain)


def cell(words: str) -> str:
    """The same inside a table, where signs such as a minus start no line."""
    plain = _ACTIVE.sub(r"\\\g<0>", one_line(words)).replace("&", "&amp;").replace("<", "&lt;")
    return plain.replace("|", "\\|")


def code_block(words: str) -> str:
    """A fenced block whose fence is longer than any inside it."""
    longest = max((len(found) for found in _BACKTICKS.findall(words)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{many_lines(words)}\n{fence}\n"
