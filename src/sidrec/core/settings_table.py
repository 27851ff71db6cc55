"""Settings as a table a person can read: name, value, meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sidrec.core.settings import Settings


@dataclass(frozen=True)
class SettingLine:
    name: str
    value: Any
    meaning: str


def settings_table(settings: Settings, prefix: str = "") -> Iterator[SettingLine]:
    """One line per setting; those of a section are called `section.name`, as recipes and `--set` call them."""
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, Settings):
            yield from settings_table(value, f"{prefix}{name}.")
        else:
            yield SettingLine(prefix + name, value, " ".join((field.description or "").split()))
