"""Words from outside as plain text: what a catalogue, a path or a file says never steers a terminal or a page."""

from __future__ import annotations

import json
import re

from sidrec.core.places import with_uris

_SPACE = re.compile("[\t-\r\x1c-\x1f\x85\u2028\u2029]+")
# terminal control, invisible marks that turn or hide text, and halves of characters that cannot be written out;
# the joiners U+200C and U+200D stay, because Persian, Indic and emoji are spelt with them
_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def one_line(text: str) -> str:
    """The text on one line; characters that steer are shown as their escape codes, line breaks as a space.

    What lies at a URI is called by it.
    """
    return _STEERING.sub(_code, _SPACE.sub(" ", with_uris(text)))


def many_lines(text: str) -> str:
    """The same for a text whose line breaks are ours."""
    return "\n".join(one_line(line) for line in text.split("\n"))


def short(text: str, width: int = 60) -> str:
    """The beginning of a text that may be very long, quoted, for a message."""
    shown = repr(text[:width])
    return shown if len(text) <= width else f"{shown} ... ({len(text):,} characters)"


def in_json(text: str) -> str:
    """JSON text that means the same, with every character that steers written as its JSON escape."""
    return _STEERING.sub(_json_code, with_uris(text))


def _json_code(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1]


def _code(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape", "surrogatepass").decode("ascii")
