"""The page around the blocks: light, calm, printable, and with nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources

from sidrec.reports.blocks import Block, Heading

_STYLE_FILE = "page.css"


def render(title: str, blocks: Sequence[Block]) -> str:
    links = "".join(
        f'<a href="#{escape(block.anchor)}">{escape(block.text)}</a>'
        for block in blocks
        if isinstance(block, Heading) and block.level == 2
    )
    style = resources.files("sidrec.reports").joinpath(_STYLE_FILE).read_text(encoding="utf-8")
    body = "\n".join(block.html() for block in blocks)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>\n{style}</style></head>\n<body>"
        f"<header><div><h1>{escape(title)}</h1></div></header>\n<nav><div>{links}</div></nav>\n"
        f"<main>\n{body}\n</main></body></html>\n"
    )
