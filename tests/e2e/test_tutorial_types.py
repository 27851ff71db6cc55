"""What README and tutorial write is what a strict type checker accepts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_snippets_pass_strict_types(tmp_path):
    files = []
    for page in ("README.md", "docs/tutorial.md"):
        blocks = re.findall(
            r"^```python\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
        assert blocks, page
        files.append(tmp_path / f"{Path(page).stem.lower()}.py")
        files[-1].write_text("\n".join(blocks), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    found = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, cwd=ROOT)
    assert found.returncode == 0, found.stdout
