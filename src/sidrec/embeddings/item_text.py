"""Item text: the catalogue's text fields as one clean string per item."""

from __future__ import annotations

import difflib
import html
import re
import unicodedata
from collections.abc import Iterable, Sequence

import polars as pl

from sidrec.core.errors import InputError
from sidrec.data.catalog import Catalog
from sidrec.data.schema import TITLE
from sidrec.data.statistics import is_text

_TAG_NAMES = (
    "a abbr article aside b big blockquote body br caption center cite code col colgroup dd del div dl dt em figcaption"
    " figure font footer h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins label li link main mark meta nav"
    " noscript ol option p pre q s section select small span strike strong svg table tbody td tfoot th thead title tr"
    " tt u ul video"
)
# only names HTML knows: "width <x and y>" is text, not a tag
_TAG = re.compile(rf"</?(?:{'|'.join(_TAG_NAMES.split())})(?:[\s/][^<>]*)?>", re.IGNORECASE)
_HIDDEN = re.compile(r"<(script|style)\b[^>]*>.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_SCRIPTED = re.compile(r"</?(?:sub|sup|wbr)\s*/?>", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s<>\"']+", re.IGNORECASE)
# control characters that are not white space, soft hyphen, zero-width space, direction marks, BOM, U+FFFD;
# the joiners U+200C and U+200D stay, because Persian and Indic words are spelt with them
_CONTROL = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd]"
)
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")
_REPEAT_LENGTH = 12
"""Shorter pieces ("5 in.", "No.") may repeat with good reason."""


def item_texts(catalog: Catalog, fields: Sequence[str] | None = None) -> list[str]:
    """One string per item, title first, then the other fields in catalogue order; "" where an item says nothing."""
    columns = [_strings(catalog.frame[name]) for name in text_fields(catalog, fields)]
    return [_joined(clean(value) for value in row if value) for row in zip(*columns, strict=True)]


def text_fields(catalog: Catalog, fields: Sequence[str] | None = None) -> list[str]:
    """The fields that speak: the wanted ones (default: every text column), title first."""
    known = [name for name in catalog.frame.columns if is_text(catalog.frame[name])]
    if not known:
        have = ", ".join(catalog.frame.columns)
        words = f"the catalogue has no text column (it has: {have}); give item vectors of your own."
        raise InputError(words, arguments=("vectors",))
    for name in fields or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"text fields are: {', '.join(known)}."
            raise InputError(f"{name!r} is not a text field of the catalogue; {hint}")
    chosen = [name for name in known if not fields or name in fields]
    return sorted(chosen, key=lambda name: name != TITLE)


def clean(text: str) -> str:
    """Plain text: no mark-up, entities, URLs or control characters; every script is kept (Unicode NFC)."""
    if "<" in text:
        text = _without_tags(text)
    if "&" in text:
        # shops often escape twice, and escaped mark-up is still mark-up
        text = _without_tags(html.unescape(html.unescape(text)))
    if "://" in text:
        text = _URL.sub(" ", text)
    text = _CONTROL.sub("", unicodedata.normalize("NFC", text))
    return _SPACE.sub(" ", text).strip()


def _without_tags(text: str) -> str:
    return _TAG.sub(" ", _SCRIPTED.sub("", _HIDDEN.sub(" ", text)))


def _strings(column: pl.Series) -> list[str | None]:
    """A text column as strings; lists are joined by commas."""
    values = column.to_list()
    if column.dtype == pl.String:
        return values
    return [", ".join(part for part in value if part and part.strip()) if value else None for value in values]


def _joined(parts: Iterable[str]) -> str:
    """The fields as sentences in a row; a sentence that was already said is left out."""
    said: set[str] = set()
    kept: list[str] = []
    for part in parts:
        pieces = [piece for piece in _SENTENCE_END.split(part) if _is_new(piece, said)]
        if pieces:
            kept.append(" ".join(pieces))
    ended = [part if part[-1] in ".!?。！？" else part + "." for part in kept[:-1]]
    return " ".join([*ended, *kept[-1:]])


def _is_new(piece: str, said: set[str]) -> bool:
    key = piece.casefold().strip(" .!?。！？")
    if not key or (key in said and len(key) >= _REPEAT_LENGTH):
        return False
    said.add(key)
    return True
