"""A page as a list of blocks, each of which can be written as HTML and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol
from urllib.parse import quote

from sidrec.core.pages import markdown
from sidrec.core.pages.fill import fill

if TYPE_CHECKING:
    from markupsafe import Markup


class Block(Protocol):
    def html(self) -> Markup: ...

    def markdown(self) -> str: ...


@dataclass(frozen=True)
class Heading:
    text: str
    anchor: str
    level: Literal[2, 3] = 2

    def html(self) -> Markup:
        return fill("heading.html", heading=self)

    def markdown(self) -> str:
        return f"{'#' * self.level} {markdown.text(self.text)}\n"


@dataclass(frozen=True)
class Words:
    text: str
    kind: Literal["", "note", "question", "verdict", "warning"] = ""

    def html(self) -> Markup:
        return fill("words.html", words=self)

    def markdown(self) -> str:
        return f"{markdown.text(self.text)}\n"


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    pairs: tuple[tuple[str, str], ...]

    def html(self) -> Markup:
        return fill("facts.html", pairs=self.pairs)

    def markdown(self) -> str:
        return "\n".join(f"- {markdown.text(name)}: {markdown.text(text)}" for name, text in self.pairs) + "\n"


@dataclass(frozen=True)
class Charts:
    """Pictures (our own SVG) side by side; Markdown, which cannot hold them, shows them from files of their own."""

    pictures: tuple[str, ...]
    name: str

    def html(self) -> Markup:
        return fill("charts.html", pictures=self.pictures)

    def markdown(self) -> str:
        return " ".join(f"![{Path(file).stem}]({quote(file)})" for file in self.files()) + "\n"

    def files(self) -> dict[str, str]:
        """The pictures by file name."""
        return {f"{self.name}-{number}.svg": svg for number, svg in enumerate(self.pictures, start=1)}
