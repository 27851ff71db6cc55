"""The command line itself."""

from __future__ import annotations

import sys

import pytest

import sidrec
from sidrec.cli.app import main


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["sidrec", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0), capsys.readouterr().out


def test_it_knows_its_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, capsys, "--version") == (0, f"sidrec {sidrec.__version__}\n")


def test_shells_are_told_the_options(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--install-completion" in run(monkeypatch, capsys, "--help")[1]
    monkeypatch.setenv("_SIDREC_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "sidrec recommend --us")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert run(monkeypatch, capsys)[1].split() == ["--user"]
