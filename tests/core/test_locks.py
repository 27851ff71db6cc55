from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from reference.other_writer import lease_from_far, other_writer
from sidrec.core import locks
from sidrec.core.errors import StorageError
from sidrec.core.locks import locked, patient


@pytest.fixture(params=["flock", "lease"])
def kind(request, monkeypatch) -> str:
    """The same rules where the file system knows no flock."""
    if request.param == "lease":
        monkeypatch.setattr(locks.fcntl, "flock", no_flock)
        monkeypatch.setattr(locks, "_SETTLE", 0.01)
    return str(request.param)


def no_flock(handle, how):
    raise OSError(errno.ENOLCK, "no locks available")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def grow_old(file: Path) -> None:
    then = time.time() - locks.STALE - 1
    os.utime(file, (then, then))


def test_the_second_writer_is_told_who_the_first_is(tmp_path, kind):
    with other_writer(tmp_path / "out"):
        with pytest.raises(StorageError, match=rf"out: is being written by process {os.getpid()} on .*; wait for its"):
            locked(tmp_path / "out").__enter__()
        with locked(tmp_path / "other"):
            assert names(tmp_path) == [".other.lock", ".out.lock"]
    with locked(tmp_path / "out"):
        assert names(tmp_path) == [".out.lock"]
    assert names(tmp_path) == []


def test_one_lock_under_every_name_of_the_output(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with (
        other_writer(tmp_path / "link" / "out"),
        pytest.raises(StorageError, match="real/out: is being written"),
        locked(tmp_path / "real" / ".." / "real" / "out"),
    ):
        pass


def test_a_writer_may_call_another_writer_of_the_same_output(tmp_path, kind):
    with locked(tmp_path / "out") as outer:
        with locked(tmp_path / "out") as inner:
            assert inner is outer
        assert names(tmp_path) == [".out.lock"]
        outer.check()
    assert names(tmp_path) == []


def test_waiting_ends_with_the_other_writer_and_is_said_once(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(locks, "_LOOK_AGAIN", 0.01)
    said: list[str] = []
    order, waits = [], threading.Event()

    def tell(words: str) -> None:
        said.append(words)
        waits.set()

    def second() -> None:
        with patient(tell), locked(tmp_path / "out"):
            order.append("second")

    with other_writer(tmp_path / "out"):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(60)
        time.sleep(0.1)  # it looks again and says nothing
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert len(said) == 1 and "waiting for its end" in said[0]


COUNT = """
import errno, sys, time
from pathlib import Path
from sidrec.core import locks
def no_flock(handle, how):
    raise OSError(errno.ENOLCK, "none")
if sys.argv[2] == "lease":
    locks.fcntl.flock = no_flock
locks._SETTLE, locks._LOOK_AGAIN = 0.002, 0.001
counter = Path(sys.argv[1])
print("go", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[3])):
    with locks.locked(counter, wait=True) as lock:
        value = int(counter.read_text())
        time.sleep(0.0005)
        counter.write_text(str(value + 1))
        lock.check()
"""


@pytest.mark.parametrize(("kind_of_lock", "times"), [("flock", 40), ("lease", 20)])
@pytest.mark.slow
def test_processes_take_turns(tmp_path, kind_of_lock, times):
    counter = tmp_path / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", COUNT, str(counter), kind_of_lock, str(times)]
    writers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
    for writer in writers:
        writer.stdout.readline()
    for writer in writers:
        writer.communicate(b"go\n")
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert counter.read_text() == str(3 * times)
    assert names(tmp_path) == ["counter"]


HOLD = """
import sys, time
from pathlib import Path
from sidrec.core.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_killed_writer_stands_in_nobodys_way(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StorageError, match=f"process {holder.pid} on "), locked(tmp_path / "out"):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert names(tmp_path) == [".out.lock"]
        with locked(tmp_path / "out"):
            pass
    assert names(tmp_path) == []


def test_a_lease_from_far_holds_as_long_as_it_is_kept_alive(tmp_path, kind):
    file = lease_from_far(tmp_path / "out")
    with pytest.raises(StorageError, match="by process 77 on far "), locked(tmp_path / "out"):
        pass
    assert names(tmp_path) == [".out.lock"]
    grow_old(file)
    with locked(tmp_path / "out") as lock:
        lock.check()
    assert names(tmp_path) == []


@pytest.mark.parametrize("content", ["", "{", '{"pid": 1}', '{"surprise": 1}', "[]"])
def test_a_lock_file_without_a_readable_lease(tmp_path, kind, content):
    (tmp_path / ".out.lock").write_text(content)
    if kind == "lease":  # it may be just being written
        with pytest.raises(StorageError, match="is being written"), locked(tmp_path / "out"):
            pass
        grow_old(tmp_path / ".out.lock")
    with locked(tmp_path / "out"):
        pass
    assert names(tmp_path) == []


def test_whoever_lost_the_lock_is_stopped_and_leaves_it_alone(tmp_path, kind):
    with locked(tmp_path / "out") as lock:
        lock.check()
        taken = tmp_path / ".out.lock"
        if kind == "lease":
            taken.unlink()
        lease_from_far(tmp_path / "out")
        with pytest.raises(StorageError, match="another one has taken over; nothing was replaced"):
            lock.check()
    assert json.loads(taken.read_text())["host"] == "far"


def test_a_holder_shows_that_it_lives(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "BEAT", 0.01)
    with locked(tmp_path / "out"):
        file, end = tmp_path / ".out.lock", time.monotonic() + 60
        grow_old(file)
        while time.time() - file.stat().st_mtime > 10:
            assert time.monotonic() < end, "no sign of life"
            time.sleep(0.01)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lock of")]


def test_folders_made_for_a_writer_that_left_nothing_go_again(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "a" / "b" / "out"):
        raise ZeroDivisionError
    assert names(tmp_path) == []
    with locked(tmp_path / "a" / "b" / "out"):
        (tmp_path / "a" / "kept").touch()
    assert names(tmp_path / "a") == ["kept"]


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="a part of this path is a file"), locked(tmp_path / "file" / "out"):
        pass
    with pytest.raises(StorageError, match="the name is too long"), locked(tmp_path / ("x" * 252)):
        pass
