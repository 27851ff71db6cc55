from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import load_file, save_file

from reference.other_writer import other_writer
from sidrec.core import reading, storage
from sidrec.core.artifacts import Origin, open_artifact, opened, write, write_json
from sidrec.core.errors import ArtifactError, InputError
from sidrec.core.replacing import replacing

ORIGIN = Origin("dataset", settings={"k_core": 5}, made_from={"source": "abc"}, seed=1)


def save(path: Path, text: str = "one", origin: Origin = ORIGIN) -> Path:
    with write(path, origin) as directory:
        (directory / "data.txt").write_text(text)
        (directory / "deep").mkdir()
        write_json(directory / "deep" / "manifest.json", {"text": text})
    return path


def damage_manifest(path: Path, change) -> None:
    manifest = json.loads((path / "manifest.json").read_text())
    change(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda p: (p / "data.txt").write_text("two"), r"data\.txt: its content has changed"),
        (lambda p: (p / "data.txt").write_text("longer"), r"data\.txt: has 6 bytes instead of 3"),
        (lambda p: (p / "data.txt").unlink(), r"data\.txt: missing, though the manifest lists it"),
        (lambda p: (p / "manifest.json").unlink(), r"has no manifest\.json, so it was never finished"),
        (lambda p: (p / "manifest.json").write_text('{"format": 1'), r"manifest\.json: damaged manifest"),
        (lambda p: (p / "manifest.json").write_bytes(b"\xff\xfe"), r"manifest\.json: damaged manifest"),
        (lambda p: (p / "manifest.json").write_text("[]"), r"manifest\.json: damaged manifest"),
        (lambda p: damage_manifest(p, lambda m: m.pop("settings")), r"damaged manifest"),
        (lambda p: damage_manifest(p, lambda m: m.update(files=["data.txt"])), r"damaged manifest"),
        (lambda p: damage_manifest(p, lambda m: m["files"]["data.txt"].pop("bytes")), r"damaged manifest"),
        (lambda p: damage_manifest(p, lambda m: m.update(format=99)), r"format 99, this version reads 1"),
        (lambda p: damage_manifest(p, lambda m: m["files"].update({"../x": m["files"]["data.txt"]})), r"damaged mani"),
        (lambda p: damage_manifest(p, lambda m: m["files"].update({"/x": m["files"]["data.txt"]})), r"damaged mani"),
        (lambda p: damage_manifest(p, lambda m: m["files"].update({"": m["files"]["data.txt"]})), r"damaged manifest"),
        (lambda p: damage_manifest(p, lambda m: m.update(made_from=3)), r"damaged manifest"),
    ],
)
def test_damage_is_named(tmp_path, spoil, words):
    path = save(tmp_path / "run")
    spoil(path)
    with pytest.raises(ArtifactError, match=words):
        open_artifact(path, "dataset")


def test_another_kind_nothing_and_a_file(tmp_path):
    path = save(tmp_path / "run")
    with pytest.raises(ArtifactError, match="is a dataset artefact, a model artefact is needed; make one with `sidrec"):
        open_artifact(path, "model")
    with pytest.raises(ArtifactError, match="no such directory; make one with `sidrec embed`"):
        open_artifact(tmp_path / "none", "embeddings")
    with pytest.raises(ArtifactError, match=r"has no manifest\.json"):
        open_artifact(path / "data.txt")
    with pytest.raises(ArtifactError, match=r"has no file other\.txt"):
        open_artifact(path).file("other.txt")


def test_without_verification_only_sizes_are_looked_at(tmp_path):
    path = save(tmp_path / "run")
    (path / "data.txt").write_text("two")
    assert open_artifact(path, verify=False).kind == "dataset"


def whole(path: Path) -> None:
    """Read everything as the models do; all of it must be of one version."""
    with opened(path, "dataset") as artifact:
        version = artifact.settings["version"]
        found = {
            int(artifact.file("a.txt").read_text()),
            artifact.json("b.json")["b"],
            int(pl.read_parquet(artifact.file("c.parquet"))["c"][0]),
            int(load_file(artifact.file("d.safetensors"))["d"][0]),
            int(np.memmap(artifact.file("e.bin"), np.int64, "r")[0]),
        }
    assert found == {version}


def write_version(path: Path, version: int) -> None:
    with write(path, Origin("dataset", {"version": version})) as directory:
        (directory / "a.txt").write_text(str(version))
        write_json(directory / "b.json", {"b": version})
        pl.DataFrame({"c": [version] * 100}).write_parquet(directory / "c.parquet")
        save_file({"d": np.full(100, version)}, directory / "d.safetensors")
        np.full(100, version).tofile(directory / "e.bin")


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.slow
def test_a_reader_sees_one_version_while_writers_swap(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(storage, "_exchange", lambda first, second: False)
    path, ended = tmp_path / "run", threading.Event()
    write_version(path, 0)

    def swap() -> None:
        version = 0
        while not ended.is_set():
            version += 1
            with replacing():
                write_version(path, version)

    writer = threading.Thread(target=swap)
    writer.start()
    try:
        for _ in range(60):
            whole(path)
    finally:
        ended.set()
        writer.join()


def test_files_that_were_opened_stay_readable(tmp_path):
    path = save(tmp_path / "run")
    with opened(path) as artifact:
        save(path, "two")
        assert artifact.file("data.txt").read_text() == "one"
        assert artifact.file("data.txt").read_text() == "one"
        assert artifact.json("deep/manifest.json") == {"text": "one"}
    with opened(path) as artifact:
        assert artifact.file("data.txt").read_text() == "two"


def test_what_is_said_about_an_open_file_names_the_file(tmp_path):
    path = save(tmp_path / "ru\\n")
    with pytest.raises(InputError) as said, opened(path) as artifact:
        raise InputError(f"{artifact.file('data.txt')}: odd, see {artifact.file('deep/manifest.json')}.")
    assert str(said.value) == f"{path}/data.txt: odd, see {path}/deep/manifest.json."


def test_without_names_for_open_files_the_usual_ones_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_OPEN_FILES", tmp_path / "nothing")
    with opened(save(tmp_path / "run")) as artifact:
        assert artifact.file("data.txt") == tmp_path / "run" / "data.txt"


def test_between_two_renames_a_reader_waits_for_a_living_writer_and_mends_a_dead_ones(tmp_path, monkeypatch):
    path, old = save(tmp_path / "run"), tmp_path / ".run.old"
    path.rename(old)
    with other_writer(path), monkeypatch.context() as waiting:
        waiting.setattr(reading.time, "sleep", lambda _: old.rename(path))
        assert open_artifact(path).kind == "dataset"
    path.rename(old)
    assert open_artifact(path).kind == "dataset"
    assert [file.name for file in tmp_path.iterdir()] == ["run"]
