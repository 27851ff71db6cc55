"""What a notebook shows of a value: a small table of plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from sidrec.core.plain_text import one_line


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Everything in it is text, whatever a title or a setting brings along."""
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_text(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><caption>{_text(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_lines(text: str) -> str:
    """A drawing made of characters."""
    lines = "\n".join(_text(line) for line in text.split("\n"))
    return f'<pre style="line-height: 1.2">{lines}</pre>'


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return escape(one_line(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)))
