from __future__ import annotations

from pydantic import Field

from sidrec.core.settings import Settings
from sidrec.core.settings_table import SettingLine, changed_settings, in_brief, settings_table


class Inner(Settings):
    depth: int = 2
    """How far
    down."""


class Outer(Settings):
    width: int = Field(3, description="How wide.")
    inner: Inner = Inner(depth=5)
    plain: str | None = None


def test_sections_are_written_out_with_their_values_and_meanings():
    assert list(settings_table(Outer(width=4))) == [
        SettingLine("width", 4, "How wide."),
        SettingLine("inner.depth", 5, "How far down."),
        SettingLine("plain", None, ""),
    ]


def test_only_what_was_changed_is_told_against_the_owners_defaults():
    assert changed_settings(Outer()) == {} and in_brief(Outer()) == ""
    assert changed_settings(Outer(inner=Inner(depth=5))) == {}
    changed = Outer(inner={"depth": 2}, plain="yes")
    assert changed_settings(changed) == {"inner": {"depth": 2}, "plain": "yes"}
    assert in_brief(changed) == "plain='yes', inner={'depth': 2}"
