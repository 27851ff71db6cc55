"""A report as a list of blocks, each of which can be written as HTML and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal, Protocol

from sidrec.reports.examples import UserExample
from sidrec.reports.tables import Table


class Block(Protocol):
    def html(self) -> str: ...

    def markdown(self) -> str: ...


@dataclass(frozen=True)
class Heading:
    text: str
    anchor: str
    level: Literal[2, 3] = 2

    def html(self) -> str:
        return f'<h{self.level} id="{escape(self.anchor)}">{escape(self.text)}</h{self.level}>'

    def markdown(self) -> str:
        return f"{'#' * self.level} {self.text}\n"


@dataclass(frozen=True)
class Words:
    text: str
    kind: Literal["", "question", "verdict", "warning"] = ""

    def html(self) -> str:
        kind = f' class="{self.kind}"' if self.kind else ""
        return f"<p{kind}>{escape(self.text)}</p>"

    def markdown(self) -> str:
        return f"{self.text}\n"


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    pairs: tuple[tuple[str, str], ...]

    def html(self) -> str:
        return (
            "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in self.pairs) + "</dl>"
        )

    def markdown(self) -> str:
        return "\n".join(f"- {name}: {text}" for name, text in self.pairs) + "\n"


@dataclass(frozen=True)
class Charts:
    """Pictures side by side; Markdown, which cannot hold them, shows them from files of their own."""

    pictures: tuple[str, ...]
    name: str

    def html(self) -> str:
        return '<div class="charts">' + "".join(f"<figure>{svg}</figure>" for svg in self.pictures) + "</div>"

    def markdown(self) -> str:
        return " ".join(f"![{Path(file).stem}]({file})" for file in self.files()) + "\n"

    def files(self) -> dict[str, str]:
        """The pictures by file name."""
        return {f"{self.name}-{number}.svg": svg for number, svg in enumerate(self.pictures, start=1)}


@dataclass(frozen=True)
class TableBlock:
    table: Table

    def html(self) -> str:
        return self.table.html()

    def markdown(self) -> str:
        return self.table.markdown()


@dataclass(frozen=True)
class UserBlock:
    """One user, with the generation folded away."""

    number: int
    user: UserExample

    def html(self) -> str:
        user = self.user
        history = "".join(f"<li>{escape(title)}</li>" for title in user.history[-8:])
        listed = "".join(
            f"<li{' class=hit' if place == user.place else ''}>{escape(title)}</li>"
            for place, title in enumerate(user.listed, start=1)
        )
        trace = escape("\n".join(user.trace))
        return (
            f'<div class="user"><div><h4>User {self.number} had</h4><ul>{history}</ul>'
            f"<h4>and then in truth</h4><p>{escape(user.came_next)} <em>({self._place()})</em></p></div>"
            f"<div><h4>The model's list</h4><ol>{listed}</ol></div></div>"
            f"<details><summary>How this list was generated, step by step</summary><pre>{trace}</pre></details>"
        )

    def markdown(self) -> str:
        user = self.user
        history = "\n".join(f"- {title}" for title in user.history[-8:])
        listed = "\n".join(
            f"{place}. {title}{' **(came next)**' if place == user.place else ''}"
            for place, title in enumerate(user.listed, start=1)
        )
        trace = "\n".join(user.trace)
        return (
            f"User {self.number} had:\n\n{history}\n\nand then in truth: {user.came_next} ({self._place()}).\n\n"
            f"The model's list:\n\n{listed}\n\n```text\n{trace}\n```\n"
        )

    def _place(self) -> str:
        return f"place {self.user.place} of the list" if self.user.place else "not in the list"
