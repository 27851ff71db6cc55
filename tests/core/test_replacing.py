from __future__ import annotations

from pathlib import Path

import pytest

from sidrec.core.artifacts import Origin, ensure, open_artifact, write
from sidrec.core.errors import StorageError
from sidrec.core.replacing import always, replacing

ONE, OTHER, MODEL = (
    Origin("dataset", {"k": 1}),
    Origin("dataset", {"k": 2}),
    Origin("model", {"k": 1}),
)


def put(path: Path, origin: Origin, words: str = "x", **ways) -> None:
    with write(path, origin, **ways) as folder:
        (folder / "words.txt").write_text(words)


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (MODEL, "holds a dataset, and a model is to be written; nothing was touched"),
        (OTHER, "holds another dataset, made from other data or with other settings; nothing was touched"),
    ],
)
def test_something_else_is_refused_before_any_work_and_replaced_when_asked(tmp_path, origin, words) -> None:
    place = tmp_path / "place"
    put(place, ONE)
    with pytest.raises(StorageError, match=words) as error:
        put(place, origin)
    assert error.value.arguments == ("out", "replace")
    with pytest.raises(StorageError, match="nothing was touched"):
        ensure(place, origin, lambda: pytest.fail("work was begun"), lambda _: None)
    assert open_artifact(place).fingerprint == ONE.fingerprint and [p.name for p in tmp_path.iterdir()] == ["place"]
    with replacing():
        put(place, origin, "new")
    assert (place / "words.txt").read_text() == "new" and open_artifact(place).fingerprint == origin.fingerprint


def test_its_own_origin_what_gives_way_and_a_damaged_one_are_replaced(tmp_path) -> None:
    place = tmp_path / "place"
    put(place, ONE)
    put(place, ONE, "again")
    put(place, OTHER, "renewed", gives_way=always)
    with pytest.raises(StorageError):
        put(place, MODEL, gives_way=always)
    (place / "manifest.json").write_text("{")
    put(place, MODEL, "made again")
    assert (place / "words.txt").read_text() == "made again"


def test_what_is_replaced_stays_until_the_new_one_is_whole(tmp_path) -> None:
    place = tmp_path / "place"
    put(place, ONE, "old")
    with pytest.raises(RuntimeError), replacing(), write(place, MODEL) as folder:
        (folder / "words.txt").write_text("half")
        assert (place / "words.txt").read_text() == "old"
        raise RuntimeError
    assert (place / "words.txt").read_text() == "old" and open_artifact(place).kind == "dataset"
