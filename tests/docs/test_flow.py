"""The picture names files, so the files must be there."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


def test_every_file_of_the_picture_exists():
    named = re.findall(r"[\w/]+\.py", (TOP / "docs" / "flow.md").read_text(encoding="utf-8"))
    assert len(named) > 30
    assert [name for name in named if not (TOP / "src" / "sidrec" / name).is_file()] == []


def test_the_picture_fits_a_terminal_and_the_readme_leads_to_it():
    lines = (TOP / "docs" / "flow.md").read_text(encoding="utf-8").splitlines()
    assert max(len(line) for line in lines) <= 140
    assert "docs/flow.md" in (TOP / "README.md").read_text(encoding="utf-8")
