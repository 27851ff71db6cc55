from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reference.other_writer import lease_from_far, other_writer
from sidrec.core import locks, manifest, reading
from sidrec.core.artifacts import (
    Artifact,
    Origin,
    ensure,
    finished,
    forget_work,
    open_artifact,
    sha256_of,
    work_directory,
    write,
    write_json,
)
from sidrec.core.errors import ArtifactError, StorageError
from sidrec.core.progress import SilentProgress
from sidrec.core.replacing import replacing

ORIGIN = Origin("dataset", settings={"k_core": 5}, made_from={"source": "abc"}, seed=1)


def save(path: Path, text: str = "one", origin: Origin = ORIGIN) -> Path:
    with write(path, origin) as directory:
        (directory / "data.txt").write_text(text)
        (directory / "deep").mkdir()
        write_json(directory / "deep" / "manifest.json", {"text": text})
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Notes(SilentProgress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


def test_what_is_written_can_be_opened(tmp_path):
    artifact = open_artifact(save(tmp_path / "new" / "run"), "dataset")
    assert artifact.file("data.txt").read_text() == "one"
    assert artifact.json("deep/manifest.json") == {"text": "one"}
    assert (artifact.kind, artifact.settings, artifact.made_from) == ("dataset", {"k_core": 5}, {"source": "abc"})
    assert artifact.fingerprint == ORIGIN.fingerprint
    assert artifact.manifest["seed"] == 1
    assert {"python", "numpy", "sidrec"} <= set(artifact.manifest["versions"])
    assert names(tmp_path / "new") == ["run"]


def test_an_artefact_inside_answers_for_its_own_files(tmp_path):
    """So that opening the outer one does not read what only few ask for; damage is found when the inner one is."""
    with write(tmp_path / "run", ORIGIN) as directory:
        save(directory / "inner", origin=Origin("model"))
        (directory / "data.txt").write_text("one")
    found = open_artifact(tmp_path / "run")
    assert sorted(found.manifest["files"]) == ["data.txt", "inner/manifest.json"]
    (tmp_path / "run" / "inner" / "data.txt").write_text("two")
    assert open_artifact(tmp_path / "run").content == found.content
    with pytest.raises(ArtifactError, match=r"data.txt: its content has changed"):
        open_artifact(tmp_path / "run" / "inner")
    write_json(tmp_path / "run" / "inner" / "manifest.json", {})
    with pytest.raises(ArtifactError, match=r"inner/manifest.json"):
        open_artifact(tmp_path / "run")


@pytest.mark.parametrize(
    "other",
    [
        Origin("model", ORIGIN.settings, ORIGIN.made_from, 1),
        Origin("dataset", {"k_core": 6}, ORIGIN.made_from, 1),
        Origin("dataset", ORIGIN.settings, {"source": "abd"}, 1),
        Origin("dataset", ORIGIN.settings, ORIGIN.made_from, 2),
    ],
)
def test_finished_means_exactly_this(tmp_path, other):
    path = save(tmp_path / "run")
    assert finished(path, ORIGIN)
    assert not finished(path, other)
    assert not finished(tmp_path / "nothing", ORIGIN)
    (path / "data.txt").write_text("two")
    assert not finished(path, ORIGIN)


def test_content_follows_the_files_and_not_the_origin(tmp_path):
    first, second = open_artifact(save(tmp_path / "a")), open_artifact(save(tmp_path / "b", origin=Origin("model")))
    third = open_artifact(save(tmp_path / "c", "other"))
    assert first.content == second.content != third.content


@pytest.fixture
def counted(monkeypatch) -> list[Path]:
    """Every file that is hashed."""
    hashed: list[Path] = []

    def counting(path: Path) -> str:
        hashed.append(Path(path).resolve())
        return sha256_of(path)

    monkeypatch.setattr(reading, "sha256_of", counting)
    monkeypatch.setattr(manifest, "sha256_of", counting)
    return hashed


def text_of(artifact: Artifact) -> str:
    return artifact.file("data.txt").read_text()


def test_what_is_needed_is_made_once_and_hashed_once(tmp_path, counted):
    path, made = tmp_path / "run", []

    def make() -> None:
        made.append(1)
        save(path)

    notes = Notes()
    assert ensure(path, ORIGIN, make, text_of, notes) == "one"
    assert (len(made), len(counted), notes.lines) == (1, 2, [])  # two files, hashed when they were sealed
    counted.clear()
    assert ensure(path, ORIGIN, make, text_of, notes) == "one"
    assert (len(made), len(counted), notes.lines) == (1, 2, [f"{path}: already there, nothing to do."])
    counted.clear()
    other = Origin("dataset", {"k_core": 6})
    with replacing():
        assert ensure(path, other, lambda: save(path, "two", other) and None, text_of) == "two"
    assert len(counted) == 2  # the old one was not hashed: its manifest says that it is another
    assert names(tmp_path) == ["run"]


def test_what_make_returns_is_the_answer_and_its_failure_leaves_nothing(tmp_path):
    assert ensure(tmp_path / "run", ORIGIN, lambda: "made", text_of) == "made"
    with pytest.raises(ZeroDivisionError):
        ensure(tmp_path / "new" / "run", ORIGIN, lambda: str(1 / 0), text_of)
    assert names(tmp_path) == []


def test_damaged_is_made_again_and_an_artefact_that_cannot_be_loaded_is_said(tmp_path):
    path = save(tmp_path / "run")
    (path / "data.txt").write_text("bad")
    assert ensure(path, ORIGIN, lambda: save(path) and None, text_of) == "one"
    with pytest.raises(ArtifactError, match="has no file other"):
        ensure(path, ORIGIN, lambda: save(path) and None, lambda artifact: artifact.json("other"))


def test_who_waits_for_another_maker_finds_what_it_made(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_LOOK_AGAIN", 0.01)
    path, made = tmp_path / "run", []

    def make() -> None:
        made.append(1)
        time.sleep(0.1)
        save(path)

    def need() -> None:
        with locks.patient(lambda _: None):
            assert ensure(path, ORIGIN, make, text_of) == "one"

    with ThreadPoolExecutor(4) as pool:
        for needed in [pool.submit(need) for _ in range(4)]:
            needed.result()
    assert len(made) == 1


def test_a_helper_of_the_writer_takes_no_lock(tmp_path):
    with other_writer(tmp_path / "run"):
        assert ensure(tmp_path / "run", ORIGIN, lambda: "helped", text_of, alone=False) == "helped"


def test_an_error_leaves_the_old_one_and_no_rest(tmp_path):
    path = save(tmp_path / "run")
    with pytest.raises(ZeroDivisionError), write(path, ORIGIN) as directory:
        (directory / "data.txt").write_text("half")
        raise ZeroDivisionError
    assert open_artifact(path).file("data.txt").read_text() == "one"
    assert names(tmp_path) == ["run"]


def test_a_new_one_replaces_the_old_one_wholly(tmp_path):
    path = save(tmp_path / "run")
    with write(path, ORIGIN) as directory:
        (directory / "other.txt").write_text("x")
    assert names(path) == ["manifest.json", "other.txt"]
    assert names(tmp_path) == ["run"]


def test_files_that_are_not_ours_are_never_replaced(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "diary.txt").write_text("dear diary")
    (tmp_path / "notes").write_text("note")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StorageError, match="holds files that sidrec did not write"):
        save(tmp_path / "letters")
    with pytest.raises(StorageError, match="is a file, and a directory is to be written"):
        save(tmp_path / "notes")
    with pytest.raises(StorageError, match="a part of this path is a file"):
        save(tmp_path / "notes" / "run")
    assert (tmp_path / "letters" / "diary.txt").read_text() == "dear diary"
    assert (tmp_path / "notes").read_text() == "note"
    assert open_artifact(save(tmp_path / "empty")).kind == "dataset"


def test_the_current_directory_is_not_swept_away(tmp_path, monkeypatch):
    (tmp_path / "mine.txt").write_text("x")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match="did not write"):
        save(Path())
    assert names(tmp_path) == ["mine.txt"]


def test_resumable_work_survives_an_error_and_belongs_to_its_origin(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(ZeroDivisionError), write(path, ORIGIN, resumable=True) as directory:
        (directory / "part-0").write_text("done")
        raise ZeroDivisionError
    assert work_directory(path, ORIGIN).is_dir()
    with pytest.raises(ArtifactError, match="run: is not finished; run the command that makes it again, it will go on"):
        open_artifact(path)
    other = Origin("dataset", {"k_core": 9})
    with pytest.raises(ZeroDivisionError), write(path, other, resumable=True) as directory:
        assert names(directory) == []
        raise ZeroDivisionError
    with write(path, ORIGIN, resumable=True) as directory:
        assert names(directory) == ["part-0"]
        (directory / "part-1").write_text("done")
    assert set(open_artifact(path).manifest["files"]) == {"part-0", "part-1"}
    assert names(tmp_path) == ["run"]


def no_space(*args, **kwargs):
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_one_sentence_and_keeps_the_old_one(tmp_path, monkeypatch):
    path = save(tmp_path / "run")
    monkeypatch.setattr(manifest, "write_json", no_space)
    with pytest.raises(StorageError, match=r"run: no space left on the disk; free some and run the same command"):
        save(path, "two")
    assert open_artifact(path).file("data.txt").read_text() == "one"
    assert names(tmp_path) == ["run"]


def test_a_full_disk_keeps_resumable_work(tmp_path, monkeypatch):
    monkeypatch.setattr(manifest, "write_json", no_space)
    with pytest.raises(StorageError), write(tmp_path / "run", ORIGIN, resumable=True) as directory:
        (directory / "part-0").write_text("done")
    assert names(work_directory(tmp_path / "run", ORIGIN)) == ["part-0"]
    assert not (tmp_path / "run").exists()


def test_what_dead_writers_left_is_swept_and_nothing_else(tmp_path):
    """Whoever writes is alone, so an unfinished directory of this output is nobody's; names alone tell whose it is."""
    for left in (".run[1].tmp-some-host-12-0a1b2c3d", ".run[1].tmp-99", ".run[1].lock-0a1b"):
        (tmp_path / left).mkdir()
    others = [".run1.tmp-some-host-12-0a1b2c3d", ".run[1].tmp-1.tmp-99", ".run[1].work-12", ".run[1].other-1"]
    for other in others:
        (tmp_path / other).mkdir()
    save(tmp_path / "run[1]")
    assert names(tmp_path) == sorted([*others, "run[1]"])


@pytest.mark.parametrize("name", ["m[1]", "*", "with space", "größe", "-x", "x" * 180])
def test_names_with_a_meaning_for_the_shell_are_only_names(tmp_path, name):
    for neighbour in (".m1.work-12", ".other.work-12", ".other.tmp-12"):
        (tmp_path / neighbour).mkdir()
    with pytest.raises(ZeroDivisionError), write(tmp_path / name, ORIGIN, resumable=True):
        raise ZeroDivisionError
    with write(tmp_path / name, ORIGIN, resumable=True) as directory:
        (directory / "data.txt").write_text("one")
    assert open_artifact(tmp_path / name).file("data.txt").read_text() == "one"
    assert names(tmp_path) == sorted([".m1.work-12", ".other.work-12", ".other.tmp-12", name])


def test_a_second_writer_is_refused_and_touches_nothing(tmp_path):
    path = save(tmp_path / "run")
    (tmp_path / ".run.tmp-alive-1-00000000").mkdir()
    (tmp_path / ".run.work-0123456789ab").mkdir()
    with other_writer(path):
        for second in (lambda: save(path, "two"), lambda: forget_work(path)):
            with pytest.raises(StorageError, match="run: is being written by process"):
                second()
        assert names(tmp_path) == [".run.lock", ".run.tmp-alive-1-00000000", ".run.work-0123456789ab", "run"]
    assert open_artifact(path).file("data.txt").read_text() == "one"


def test_who_lost_the_lock_replaces_nothing(tmp_path):
    path = save(tmp_path / "run")
    with pytest.raises(StorageError, match="another one has taken over"), write(path, ORIGIN) as directory:
        (directory / "data.txt").write_text("two")
        lease_from_far(path)
    assert open_artifact(path).file("data.txt").read_text() == "one"
    assert names(tmp_path) == [".run.lock", "run"]


WRITER = """
import sys
from pathlib import Path
from sidrec.core.artifacts import Origin, write
from sidrec.core.replacing import always
path, version = Path(sys.argv[1]), 0
while True:
    version += 1
    with write(path, Origin("dataset", {"version": version}), gives_way=always) as directory:
        for name in ("a", "b", "c"):
            (directory / name).write_text(str(version) * 2000)
    if version == 1:
        print("go", flush=True)
"""


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.slow
def test_a_killed_writer_leaves_the_old_one_or_the_new_one(tmp_path, seed):
    path = tmp_path / "run"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    with writer, writer.stdout:
        assert writer.stdout.readline() == b"go\n"
        time.sleep(random.Random(seed).uniform(0, 0.03))
        writer.send_signal(signal.SIGKILL)
    artifact = open_artifact(path, "dataset")
    assert {artifact.file(name).read_text() for name in "abc"} == {str(artifact.settings["version"]) * 2000}
    with replacing():
        save(path)
    assert names(tmp_path) == ["run"]


def test_what_a_writer_left_that_died_at_the_very_end_goes_with_the_next_run(tmp_path):
    path, other = save(tmp_path / "run"), tmp_path / ".run.work-0123456789ab"
    work, lock = work_directory(path, ORIGIN), tmp_path / ".run.lock"
    blocks = work.with_name(f"{work.name}-blocks")
    for left in (work, blocks, tmp_path / ".run.tmp-host-1-ab", other):
        left.mkdir()
    lock.touch()
    with other_writer(path):  # somebody is at it: all of that may be his
        assert ensure(path, ORIGIN, pytest.fail, text_of) == "one"
        assert work.exists()
    lock.touch()
    assert ensure(path, ORIGIN, pytest.fail, text_of) == "one"
    assert names(tmp_path) == [other.name, "run"]  # unfinished work with other settings is kept


def test_scratch_files_of_a_killed_job_do_not_become_part_of_its_result(tmp_path):
    work = work_directory(tmp_path / "run", ORIGIN)
    (work / "deep").mkdir(parents=True)
    for scratch in (".tmpMh8E9C", ".facts.json.tmp", "deep/.tmp"):
        (work / scratch).write_text("half")
    (work / "part").write_text("whole")
    with write(tmp_path / "run", ORIGIN, resumable=True) as directory:
        (directory / "rest").write_text("whole")
    assert sorted(open_artifact(tmp_path / "run").manifest["files"]) == ["part", "rest"]
    assert names(tmp_path / "run") == ["deep", "manifest.json", "part", "rest"]
