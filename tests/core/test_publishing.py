"""Artefacts in an object store: whole, one version at a time, whatever happens to their writers."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reference.object_store import client, keys
from sidrec.core import publishing
from sidrec.core.artifacts import Origin, ensure, open_artifact, opened, write
from sidrec.core.errors import ArtifactError, SidrecError, StorageError
from sidrec.core.mirroring import local
from sidrec.core.places import mirror, mirrored
from sidrec.core.remote_files import RemoteFiles, remote_errors
from sidrec.core.replacing import replacing

pytestmark = pytest.mark.slow


def save(uri: str, text: str, origin: Origin | None = None) -> None:
    with write(uri, origin or Origin("dataset", settings={"text": text})) as folder:
        (folder / "deep").mkdir()
        (folder / "data.txt").write_text(text)
        (folder / "deep" / "more.txt").write_text(text * 2)


def read(uri: str) -> tuple[str, str]:
    with opened(uri, "dataset") as artifact:
        return artifact.file("data.txt").read_text(), artifact.file("deep/more.txt").read_text()


def elsewhere() -> None:
    """From here on we are another machine: nothing is mirrored."""
    shutil.rmtree(mirror(), ignore_errors=True)


def test_another_machine_reads_what_was_written(bucket):
    save(f"{bucket}/runs/one", "a")
    elsewhere()
    assert read(f"{bucket}/runs/one") == ("a", "aa")


def test_a_reader_sees_the_new_version(bucket, s3_server):
    save(f"{bucket}/run", "a")
    before = mirrored(f"{bucket}/run")
    shutil.copytree(before, before.parent.parent / "kept")
    with pytest.raises(StorageError, match=f"{bucket}/run: holds another dataset"):
        save(f"{bucket}/run", "b")
    with replacing():
        save(f"{bucket}/run", "b")
    shutil.rmtree(before)
    (before.parent.parent / "kept").rename(before)  # the mirror of a machine that was not there
    assert read(f"{bucket}/run") == ("b", "bb")


def test_what_is_there_is_not_made_again(bucket):
    save(f"{bucket}/run", "a")
    elsewhere()
    found = ensure(f"{bucket}/run", Origin("dataset", settings={"text": "a"}), pytest.fail, lambda artifact: artifact)
    assert found.settings == {"text": "a"}


def test_a_folder_that_others_copied_is_read(bucket, s3_server, tmp_path):
    save(str(tmp_path / "run"), "a")
    for file in (tmp_path / "run").rglob("*"):
        if file.is_file():
            name = file.relative_to(tmp_path / "run").as_posix()
            client(s3_server).upload_file(str(file), bucket.removeprefix("s3://"), f"flat/{name}")
    assert read(f"{bucket}/flat") == ("a", "aa")


def test_a_writer_that_dies_leaves_the_old_version(bucket, monkeypatch):
    save(f"{bucket}/run", "a")
    sent = RemoteFiles.send

    def breaks(self: RemoteFiles, source: Path) -> None:
        if source.name == "more.txt":
            raise OSError("AWS Error NETWORK_CONNECTION during PutObject")
        sent(self, source)

    monkeypatch.setattr(RemoteFiles, "send", breaks)
    with replacing(), pytest.raises(OSError, match="NETWORK"):
        save(f"{bucket}/run", "b")
    assert read(f"{bucket}/run") == ("a", "aa")
    elsewhere()
    assert read(f"{bucket}/run") == ("a", "aa")


WRITER = """
import itertools, sys
from sidrec.core.artifacts import Origin, write
from sidrec.core.replacing import replacing
print("ready", flush=True)
for number in itertools.count():
    with replacing(), write(sys.argv[1], Origin("dataset", settings={"text": number})) as folder:
        (folder / "deep").mkdir()
        (folder / "data.txt").write_text(f"{number};" * 20_000)
        (folder / "deep" / "more.txt").write_text(f"{number};" * 40_000)
    print(number, flush=True)
"""


def test_a_kill_leaves_old_or_new(bucket):
    for delay in (0.02, 0.1, 0.25):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, f"{bucket}/run"], stdout=subprocess.PIPE, text=True
        ) as one:
            assert one.stdout is not None
            assert [one.stdout.readline() for _ in range(3)] == ["ready\n", "0\n", "1\n"]
            time.sleep(delay)
            one.send_signal(signal.SIGKILL)
            one.stdout.read()
        elsewhere()
        first, second = read(f"{bucket}/run")
        assert second == first * 2 and len(set(first.split(";"))) == 2


def test_a_version_that_appeared_meanwhile_is_not_replaced(bucket):
    save(f"{bucket}/run", "a")
    wrong = pytest.raises(StorageError, match="another writer has put something there")
    with wrong, replacing(), write(f"{bucket}/run", Origin("dataset", settings={"text": "b"})) as folder:
        (folder / "data.txt").write_text("b")
        found = RemoteFiles(f"{bucket}/run/manifest.json").read(10_000)
        changed = json.loads(found) | {"fingerprint": "another"}
        RemoteFiles(f"{bucket}/run/manifest.json").put(json.dumps(changed).encode())


def test_versions_of_long_ago_go(bucket, s3_server, monkeypatch):
    monkeypatch.setattr(publishing, "_DEAD_NS", -(10**12))
    with replacing():
        for text in "abc":
            save(f"{bucket}/run", text)
    left = keys(client(s3_server), bucket.removeprefix("s3://"))
    assert len([name for name in left if not name.endswith("/")]) == 3
    elsewhere()
    assert read(f"{bucket}/run") == ("c", "cc")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"files": {"../../../out.txt": {"sha256": "0", "bytes": 1}}}, "damaged manifest"),
        ({"stored": {"version": "../../other", "files": {}}}, "damaged manifest"),
        ({"stored": {"version": "0" * 32, "files": {"../out.txt": 1}}}, "damaged manifest"),
        ({"stored": {"version": "0" * 32, "files": {"data.txt": 1, "deep/more.txt": 1}}}, "missing, though"),
        ({"stored": 7}, "damaged manifest"),
    ],
)
def test_a_hostile_manifest_is_refused(bucket, tmp_path, change, words):
    save(f"{bucket}/run", "a")
    place = RemoteFiles(f"{bucket}/run/manifest.json")
    place.put(json.dumps(json.loads(place.read(10_000)) | change).encode())
    before = sorted(tmp_path.rglob("*.txt"))
    elsewhere()
    with pytest.raises(ArtifactError, match=f"{bucket}/run.*{words}"):
        open_artifact(f"{bucket}/run")
    assert set(tmp_path.rglob("*.txt")) <= set(before)


def test_changed_bytes_are_noticed(bucket, s3_server):
    save(f"{bucket}/run", "a")
    name = next(key for key in keys(client(s3_server), bucket.removeprefix("s3://")) if key.endswith("data.txt"))
    RemoteFiles(f"{bucket}/{name}").put(b"z")
    elsewhere()
    with pytest.raises(ArtifactError, match="content is not what the manifest says"):
        open_artifact(f"{bucket}/run")


def test_files_and_folders_are_fetched_when_they_changed(bucket, s3_server):
    store, name = client(s3_server), bucket.removeprefix("s3://")
    store.put_object(Bucket=name, Key="in/interactions.csv", Body=b"one")
    store.put_object(Bucket=name, Key="in/items.csv", Body=b"two")
    store.put_object(Bucket=name, Key="in/deep/x.csv", Body=b"far")
    folder = local(f"{bucket}/in")
    assert sorted(file.name for file in folder.iterdir()) == ["interactions.csv", "items.csv"]
    assert local(f"{bucket}/in/deep/x.csv").read_text() == "far"
    store.put_object(Bucket=name, Key="in/items.csv", Body=b"changed")
    store.delete_object(Bucket=name, Key="in/interactions.csv")
    assert {file.name: file.read_text() for file in local(f"{bucket}/in").glob("*.csv")} == {"items.csv": "changed"}
    assert not local(f"{bucket}/in/interactions.csv").exists()


def test_refusals_are_sentences(bucket, monkeypatch):
    with pytest.raises(ArtifactError, match=f"{bucket}/nothing: no such directory; make one with `sidrec train`"):
        open_artifact(f"{bucket}/nothing", "model")
    with pytest.raises(StorageError, match=r"^s3://nobody-has-this: no such bucket, or these credentials"):
        local("s3://nobody-has-this/run")
    with (
        pytest.raises(StorageError, match=r"^s3://b: the credentials may not do that; check AWS"),
        remote_errors("s3://b"),
    ):
        raise OSError("When reading: AWS Error ACCESS_DENIED during GetObject")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(SidrecError, match="the store cannot be reached"):
        local("s3://shop/run")
