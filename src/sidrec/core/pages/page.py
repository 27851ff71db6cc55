"""The page around the blocks: one look, calm, printable, and with nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from sidrec.core.pages.blocks import Heading
from sidrec.core.pages.fill import fill

if TYPE_CHECKING:
    from markupsafe import Markup


class PageBlock(Protocol):
    def html(self) -> Markup: ...


def render_page(title: str, blocks: Sequence[PageBlock]) -> str:
    """One HTML file; the headings of the second level are linked from the top."""
    links = [(block.anchor, block.text) for block in blocks if isinstance(block, Heading) and block.level == 2]
    return str(fill("page.html", title=title, blocks=blocks, links=links)) + "\n"
