from __future__ import annotations

import errno
from pathlib import Path

import pytest

from sidrec.core import storage
from sidrec.core.artifacts import Origin, open_artifact, write
from sidrec.core.errors import InputError, StorageError
from sidrec.core.storage import recover, sha256_of, storage_errors, swap_in, write_json


def folder(path: Path, text: str) -> Path:
    path.mkdir()
    (path / "text").write_text(text)
    return path


@pytest.mark.parametrize("can_exchange", [True, False])
def test_swap_in_replaces_and_leaves_one(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(storage, "_exchange", lambda first, second: False)
    old, new = folder(tmp_path / "run", "old"), folder(tmp_path / "new", "new")
    swap_in(new, old)
    assert (old / "text").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def crash_at_rename(monkeypatch, number: int) -> None:
    """The machine stops at the given rename; nothing after it happens, not even tidying up."""
    real, calls = Path.rename, []

    def rename(self, target):
        calls.append(target)
        if len(calls) == number:
            raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)


@pytest.mark.parametrize("number", [1, 2])
def test_without_exchange_a_crash_between_the_renames_is_recovered(tmp_path, monkeypatch, number):
    path = tmp_path / "run"
    with write(path, Origin("dataset")) as directory:
        (directory / "text").write_text("old")
    new = folder(tmp_path / "new", "new")
    with monkeypatch.context() as patch:
        patch.setattr(storage, "_exchange", lambda first, second: False)
        crash_at_rename(patch, number)
        with pytest.raises(KeyboardInterrupt):
            swap_in(new, path)
    assert path.exists() == (number == 1)
    assert open_artifact(path, "dataset").file("text").read_text() == "old"
    with write(path, Origin("dataset")) as directory:
        (directory / "text").write_text("newer")
    assert open_artifact(path).file("text").read_text() == "newer"
    assert not (tmp_path / ".run.old").exists()


def test_a_crash_before_the_old_one_is_deleted_keeps_the_new_one(tmp_path):
    with write(tmp_path / "run", Origin("dataset")) as directory:
        (directory / "text").write_text("new")
    folder(tmp_path / ".run.old", "old")
    recover(tmp_path / "run")
    assert (tmp_path / "run" / "text").read_text() == "new"
    with write(tmp_path / "run", Origin("dataset")) as directory:
        (directory / "text").write_text("newer")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "full"), "no space left on the disk"),
        (OSError(errno.EDQUOT, "quota"), "quota is used up"),
        (PermissionError(errno.EACCES, "no"), "no permission to write there"),
        (OSError(errno.EROFS, "ro"), "read-only"),
        (NotADirectoryError(errno.ENOTDIR, "no"), "is a file, not a directory"),
        (RuntimeError("parquet: underlying IO error: No space left on device (os error 28)"), "no space left"),
    ],
)
def test_refusals_of_the_disk_are_sentences(error, words):
    with pytest.raises(StorageError, match=f"^out/x: .*{words}.*") as caught, storage_errors(Path("out/x")):
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [OSError(errno.EINVAL, "odd"), InputError("row 3"), ValueError("a bug")])
def test_other_errors_pass_unchanged(error):
    with pytest.raises(type(error)) as caught, storage_errors(Path("x")):
        raise error
    assert caught.value is error


def test_json_is_readable_and_replaced_whole(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_json(path, {"größe": 1})
    assert "größe" in path.read_text(encoding="utf-8")
    with pytest.raises(RecursionError), monkeypatch.context() as patch:
        patch.setattr(storage.json, "dump", lambda *a, **k: (_ for _ in ()).throw(RecursionError()))
        write_json(path, {"other": 2})
    assert path.read_text(encoding="utf-8") == '{\n  "größe": 1\n}\n'


def test_sha256_of_nothing_is_the_published_one(tmp_path):
    (tmp_path / "empty").touch()
    known = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256_of(tmp_path / "empty") == known
