"""A model that is changed where it stands and killed on the way is the old one or the new one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

KILL = Path(__file__).resolve().parents[2] / "tools" / "kill_in_place.py"


@pytest.mark.slow
def test_never_a_mixture():
    ended = subprocess.run([sys.executable, str(KILL), "--kills", "3"], capture_output=True, text=True)
    found = json.loads(ended.stdout.splitlines()[-1])
    assert ended.returncode == 0, found
    assert set(found) == {"items add", "train --from", "save"}
    for one in found.values():
        assert one["old"] + one["new"] == 3 and one["killed"] and one["mixed"] == one["not_new_after_rerun"] == 0
