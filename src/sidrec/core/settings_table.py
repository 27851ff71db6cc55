"""Settings for people: as a table with meanings, or only what somebody changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


def changed_settings(settings: Settings) -> dict[str, Any]:
    """What differs from the defaults, section by section."""
    found = {}
    for name, field in type(settings).model_fields.items():
        value, default = getattr(settings, name), field.get_default(call_default_factory=True)
        if value != default:
            found[name] = _changed_section(value, default)
    return found


def _changed_section(value: Any, default: Any) -> Any:
    """A section's defaults are those its owner chose, not those of its own class."""
    if not (isinstance(value, Settings) and isinstance(default, Settings) and type(value) is type(default)):
        return value
    names = [name for name in type(value).model_fields if getattr(value, name) != getattr(default, name)]
    return {name: _changed_section(getattr(value, name), getattr(default, name)) for name in names}


def in_brief(settings: Settings) -> str:
    """What was changed, as one would write it, sections last: `d_model=32, training={'epochs': 3}`."""
    changed = sorted(changed_settings(settings).items(), key=lambda named: isinstance(named[1], Mapping))
    return ", ".join(f"{name}={value!r}" for name, value in changed)
