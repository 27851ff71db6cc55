"""What the tutorial writes is what a strict type checker accepts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_tutorial_passes_strict_types(tmp_path):
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "tutorial.py").write_text("\n".join(blocks), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    found = subprocess.run([*command, str(tmp_path / "tutorial.py")], capture_output=True, text=True, cwd=ROOT)
    assert found.returncode == 0, found.stdout
