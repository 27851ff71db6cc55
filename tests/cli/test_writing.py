"""The second writer of an output says who the first is and ends, or waits for its end and gets through."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.core import TyperGroup

from reference.other_writer import other_writer
from sidrec.cli.app import app, main
from sidrec.cli.options import Command, command_of, options_of
from sidrec.core import locks
from sidrec.core.artifacts import open_artifact
from sidrec.data.synthetic import cycle

ONLY_READ = {"models", "data describe", "compare", "serve"}


def verbs(command: Command, words: tuple[str, ...] = ()) -> dict[str, Command]:
    if not isinstance(command, TyperGroup):
        return {" ".join(words): command}
    found: dict[str, Command] = {}
    for name, child in command.commands.items():
        found |= verbs(child, (*words, name))  # type: ignore[arg-type]
    return found


def test_every_verb_that_writes_can_wait():
    known = verbs(command_of(app, []))
    unasked = {name for name, command in known.items() if "wait" not in options_of(command)}
    assert unasked == ONLY_READ | {"tune"}  # several tuners share one output


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(locks, "_LOOK_AGAIN", 0.01)
    cycle(n_items=12, n_users=20, length=6).save(tmp_path / "data")

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["sidrec", "train", "--data", "data", "--model", "popularity", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), capsys.readouterr().err

    return run


def test_the_second_writer_ends_with_one_sentence(run):
    with other_writer(Path("out")):
        code, said = run("--out", "out")
    assert code == 2 and said.count("\n") == 1
    assert "out: is being written by process" in said
    assert said.endswith("wait for its end or write somewhere else (--wait, --out).\n")
    assert not Path("out").exists()


def test_the_second_writer_waits_and_gets_through(run, monkeypatch):
    with ExitStack() as first:
        first.enter_context(other_writer(Path("out")))
        monkeypatch.setattr(locks, "time", SimpleNamespace(sleep=lambda _: first.close()))  # it ends while we wait
        code, said = run("--out", "out", "--wait")
    assert code == 0, said
    assert said.count("waiting for its end") == 1 and "is being written by process" in said
    assert open_artifact(Path("out"), "model").settings["model"] == "popularity"
    assert not list(Path().glob(".out*"))


def test_nobody_waits_who_did_not_say_so_again(run):
    assert run("--out", "out", "--wait")[0] == 0
    with other_writer(Path("other")):
        assert run("--out", "other")[0] == 2
