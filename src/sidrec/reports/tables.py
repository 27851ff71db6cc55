"""A table once, written three ways: HTML, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from html import escape
from typing import Literal

Mark = Literal["", "best", "second", "muted", "good", "bad"]


@dataclass(frozen=True)
class Entry:
    """What stands in a cell: the text, small lines beneath it, and how it is marked."""

    text: str
    below: tuple[str, ...] = ()
    mark: Mark = ""
    number: bool = False


@dataclass(frozen=True)
class Table:
    """`plain` are the columns and rows of the CSV file, with full figures and without marks."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    plain: tuple[tuple[str, ...], ...]
    note: str = ""

    def html(self) -> str:
        head = "".join(
            f"<th{_class(self._is_number(place))}>{escape(name)}</th>" for place, name in enumerate(self.columns)
        )
        body = "".join("<tr>" + "".join(_html(entry) for entry in row) + "</tr>\n" for row in self.rows)
        note = f'<p class="note">{escape(self.note)}</p>' if self.note else ""
        return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>{note}'

    def markdown(self) -> str:
        rule = ["---:" if self._is_number(place) else "---" for place in range(len(self.columns))]
        lines = [self.columns, rule, *([_markdown(entry) for entry in row] for row in self.rows)]
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"{text}\n\n{self.note}\n" if self.note else f"{text}\n"

    def csv(self) -> str:
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(self.plain)
        return file.getvalue()

    def _is_number(self, place: int) -> bool:
        return any(row[place].number for row in self.rows)


def _html(entry: Entry) -> str:
    classes = " ".join(name for name in ("number" if entry.number else "", entry.mark) if name)
    below = "".join(f"<small>{escape(line)}</small>" for line in entry.below)
    return f"<td{_class(classes)}><span>{escape(entry.text)}</span>{below}</td>"


def _class(name: str | bool) -> str:
    name = "number" if name is True else name
    return f' class="{name}"' if name else ""


def _markdown(entry: Entry) -> str:
    text = entry.text.replace("|", "\\|")
    shown = {"best": f"**{text}**", "second": f"<u>{text}</u>"}.get(entry.mark, text)
    return " ".join([shown, *(line.replace("|", "\\|") for line in entry.below)])
