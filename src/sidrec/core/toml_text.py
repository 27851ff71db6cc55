"""Plain values written as TOML: what `read_toml` reads back as the same values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(values: Mapping[str, Any]) -> str:
    """Sections of sections become tables; what is nothing is left out, TOML has no word for it."""
    return "\n".join(_lines(values, ())).lstrip("\n") + "\n"


def _lines(values: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[str]:
    plain = {name: value for name, value in values.items() if not isinstance(value, Mapping) and value is not None}
    if place and (plain or not values):
        yield f"\n[{'.'.join(map(_name, place))}]"
    for name, value in plain.items():
        yield f"{_name(name)} = {_value(value)}"
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _lines(value, (*place, name))


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(words: str) -> str:
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    if isinstance(value, str):
        return _text(value)
    return json.dumps(value) if isinstance(value, bool) else repr(value)
