from __future__ import annotations

import io
import sys
import types

import pytest

from sidrec.core import progress
from sidrec.core.progress import LineProgress, RichProgress, SilentProgress, in_notebook, terminal_progress


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_lines_come_at_the_asked_pace_with_rate_and_figures(clock):
    stream = io.StringIO()
    with LineProgress(stream, every=5).task("training", total=10) as task:
        task.advance(1, loss=3.0)  # too early for a line
        clock[0] += 5
        task.advance(4, loss=1.23456)
        clock[0] += 1
        task.advance(5)
    assert stream.getvalue().splitlines() == [
        "training: 5/10, 5 s, 5 s left, loss 1.235",
        "training: 10/10, 6 s, 0 s left, loss 1.235",
    ]


def test_a_short_task_leaves_the_log_alone(clock):
    stream = io.StringIO()
    with LineProgress(stream).task("quick") as task:
        task.advance(3)
    assert stream.getvalue() == ""


def test_without_a_total_nothing_is_promised(clock):
    stream = io.StringIO()
    with LineProgress(stream, every=0).task("reading") as task:
        clock[0] += 2
        task.advance(7, file="a.csv")
    assert stream.getvalue().splitlines()[0] == "reading: 7, 2 s, file a.csv"


def test_a_failing_task_keeps_its_error(clock):
    with pytest.raises(KeyError), LineProgress(io.StringIO()).task("x"):
        raise KeyError("boom")


def test_notes_stay():
    stream = io.StringIO()
    LineProgress(stream).note("skipped: already done")
    assert stream.getvalue() == "skipped: already done\n"


def test_bars_nest_show_figures_and_print_notes_as_they_are(capsys):
    bars = RichProgress()
    with bars.task("outer", total=2) as outer:
        outer.advance(1, loss=0.5)
        with bars.task("inner") as inner:
            inner.advance(1)
        bars.note("wrote [bold]x[/bold]")
    with bars.task("again", total=1) as again:
        again.advance()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "wrote [bold]x[/bold]" in shown.err
    assert all(word in shown.err for word in ("outer", "inner", "again", "loss 0.5"))


def test_silence_is_silent_and_a_pipe_gets_lines(capsys):
    with SilentProgress().task("x", 3) as task:
        task.advance(2, loss=1.0)
    SilentProgress().note("nobody hears")
    assert isinstance(terminal_progress(), LineProgress)
    assert capsys.readouterr() == ("", "")


def test_a_notebook_is_recognised_without_importing_anything(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    for shell, found in (("ZMQInteractiveShell", True), ("TerminalInteractiveShell", False)):
        there = type(shell, (), {})()
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda there=there: there))
        assert in_notebook() == found
        assert isinstance(terminal_progress(), RichProgress) == found
