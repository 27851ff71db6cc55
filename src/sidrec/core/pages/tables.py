"""A table once, written three ways: HTML, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sidrec.core.pages.fill import fill
from sidrec.core.pages.markdown import cell
from sidrec.core.pages.markdown import text as markdown_text
from sidrec.core.plain_text import one_line

if TYPE_CHECKING:
    from markupsafe import Markup

Mark = Literal["", "best", "second", "muted", "good", "bad"]
_FORMULA = ("=", "+", "-", "@")


@dataclass(frozen=True)
class Entry:
    """What stands in a cell: the text, small lines beneath it, and how it is marked."""

    text: str
    below: tuple[str, ...] = ()
    mark: Mark = ""
    number: bool = False

    @property
    def classes(self) -> str:
        return " ".join(name for name in ("number" if self.number else "", self.mark) if name)

    def markdown(self) -> str:
        words = cell(self.text)
        shown = {"best": f"**{words}**", "second": f"<u>{words}</u>"}.get(self.mark, words)
        return " ".join([shown, *(cell(line) for line in self.below)])


@dataclass(frozen=True)
class Table:
    """`plain` are the columns and rows of the CSV file, with full figures and without marks."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    plain: tuple[tuple[str, ...], ...] = ()
    note: str = ""

    def html(self) -> Markup:
        return fill("table.html", table=self)

    def markdown(self) -> str:
        rule = ["---:" if numeric else "---" for numeric in self.numeric]
        head = [cell(name) for name in self.columns]
        lines = [head, rule, *([entry.markdown() for entry in row] for row in self.rows)]
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"{text}\n\n{markdown_text(self.note)}\n" if self.note else f"{text}\n"

    def csv(self) -> str:
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows([spreadsheet_cell(text) for text in row] for row in self.plain)
        return file.getvalue()

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers."""
        return tuple(any(row[column].number for row in self.rows) for column in range(len(self.columns)))


def spreadsheet_cell(text: str) -> str:
    """The text as it is, unless a spreadsheet would run it as a formula: then a quote stands before it."""
    text = one_line(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").removesuffix("%"))
    except ValueError:
        return False
    return True
