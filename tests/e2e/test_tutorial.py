"""The tutorial does what it says: its blocks are run in order, in an empty folder."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from sidrec.cli.app import main

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_block_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "tutorial"}
    blocks = BLOCK.findall(TUTORIAL.read_text(encoding="utf-8"))
    assert {language for language, _ in blocks} == {"python", "toml", "console"}
    for language, text in blocks:
        if language == "python":
            exec(compile(text, str(TUTORIAL), "exec"), names)
        elif language == "toml":
            file = text.split("\n")[0].removeprefix("# ")
            (tmp_path / file).write_text(text, encoding="utf-8")
        else:
            _run_lines(text, monkeypatch)
    printed = capsys.readouterr().out
    assert "purchases of 150 products" in printed
    assert "0 done, 4 already there" in printed
    assert (tmp_path / "report" / "index.html").is_file()


def _run_lines(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in text.strip().split("\n"):
        monkeypatch.setattr(sys, "argv", line.split())
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code, line
