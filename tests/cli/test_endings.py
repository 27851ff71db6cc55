"""How a command ends, whatever happens to it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sidrec.cli import endings
from sidrec.cli.endings import Stopped, ends_in_words
from sidrec.core import locks
from sidrec.core.errors import InputError

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.fixture(autouse=True)
def as_when_a_program_begins(monkeypatch):
    """Nothing is written yet, and Ctrl-C is heard: whoever runs tests in the background may have them ignore it."""
    monkeypatch.setattr(locks, "_ours", [])
    before = {number: signal.getsignal(number) for number, _ in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def ending(capsys, body) -> tuple[int, str]:
    with pytest.raises(SystemExit) as end, ends_in_words():
        body()
    return end.value.code, capsys.readouterr().err


def fail(error: BaseException):
    def body() -> None:
        raise error

    return body


def test_errors_of_ours_and_of_the_machine_are_one_sentence(capsys):
    assert ending(capsys, fail(InputError("x: no."))) == (2, "sidrec: x: no.\n")
    code, words = ending(capsys, fail(OSError(errno.EMFILE, "Too many open files", "a")))
    assert (code, words.count("\n")) == (2, 1) and words.startswith("sidrec: a: too many files are open")
    assert ending(capsys, fail(MemoryError()))[0] == 2


def test_a_defect_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), ends_in_words():
        raise ZeroDivisionError


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_stop_says_what_is_kept(number, code, capsys, tmp_path):
    out = tmp_path / "out"

    def stopped_in_the_middle(keep: bool) -> None:
        with locks.locked(out):
            if keep:
                (tmp_path / ".out.work-0123").mkdir()
            signal.raise_signal(number)

    assert ending(capsys, lambda: signal.raise_signal(number)) == (
        code,
        "sidrec: stopped before anything was written; run the same command again.\n",
    )
    assert ending(capsys, lambda: stopped_in_the_middle(False)) == (
        code,
        f"sidrec: stopped; nothing was written to {out}, run the same command again.\n",
    )
    assert ending(capsys, lambda: stopped_in_the_middle(True)) == (
        code,
        f"sidrec: stopped; the unfinished work for {out} is kept, run the same command again to go on.\n",
    )
    (tmp_path / ".out.work-0123").rmdir()
    out.mkdir()
    assert f"what stands in {out} is whole and kept" in ending(capsys, lambda: stopped_in_the_middle(False))[1]
    assert not (tmp_path / ".out.lock").exists()


def test_a_stop_that_python_cannot_pass_on_is_not_lost(capsys):
    class Falls:
        def __del__(self) -> None:
            raise Stopped(signal.SIGTERM)

    def body() -> None:
        falls = Falls()
        del falls
        time.sleep(1)

    assert ending(capsys, body)[0] == 143


class Panic(BaseException):
    """What a library written in another language makes of any exception inside it."""


def test_a_stop_of_which_a_library_makes_an_error_of_its_own_is_still_a_stop(capsys):
    def body() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except Stopped as stop:
            raise Panic("could not reach the array") from stop

    code, words = ending(capsys, body)
    assert (code, words) == (143, "sidrec: stopped before anything was written; run the same command again.\n")
    with pytest.raises(Panic), ends_in_words():  # the next command has not been stopped
        raise Panic


def test_handlers_are_given_back_and_ignoring_stays(capsys):
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with ends_in_words():
        signal.raise_signal(signal.SIGTERM)  # nohup
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before


def run(words: str, **streams: object) -> subprocess.CompletedProcess[str]:
    """A program that imports only what is needed to end well."""
    program = (
        f"from sidrec.cli.endings import ends_in_words\nimport sys, os, signal\nwith ends_in_words():\n    {words}"
    )
    source = str(Path(endings.__file__).parents[2])
    options: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    environment = {**os.environ, "PYTHONPATH": source}
    return subprocess.run([sys.executable, "-c", program], text=True, env=environment, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_standard_output_is_one_sentence_and_a_full_standard_error_is_nothing():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        ended = run("print('x' * 100_000)", stdout=full)
        assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
        assert ended.stderr.startswith("sidrec: standard output: cannot be written (No space left on device)")
        ended = run("print('done'); sys.stderr.write('progress')", stderr=full)
        assert (ended.returncode, ended.stdout) == (0, "done\n")


def test_a_closed_standard_output_is_one_sentence(tmp_path):
    for words in ("print(1)", "file = open('x', 'w'); file.write('mine'); file.close(); print(1)"):
        ended = run(words, preexec_fn=lambda: os.close(1), stdout=None, cwd=tmp_path)
        assert ended.returncode == 2 and "standard output: cannot be written (Bad file desc" in ended.stderr
    assert (tmp_path / "x").read_text() == "mine"
    reader, writer = os.pipe()
    os.close(reader)
    ended = run("print(1)", stdout=writer)
    os.close(writer)
    assert ended.returncode == 2 and "(Broken pipe)" in ended.stderr


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_stop_in_the_middle_of_an_import(tmp_path, number, code):
    (tmp_path / "slow_module.py").write_text(f"import signal\nsignal.raise_signal({int(number)})\n")
    ended = run(f"sys.path.insert(0, {str(tmp_path)!r}); import slow_module")
    words = "sidrec: stopped before anything was written; run the same command again.\n"
    assert (ended.returncode, ended.stderr) == (code, words)


def test_a_stop_while_python_tidies_up_changes_nothing():
    ended = run("import atexit; atexit.register(lambda: signal.raise_signal(signal.SIGTERM)); print('done')")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
