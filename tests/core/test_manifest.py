from __future__ import annotations

import hashlib
import json

import pytest

from sidrec.core.manifest import MANIFEST, Origin, parse, seal


def test_every_file_is_listed_with_size_and_hash(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "x").write_bytes(b"abc")
    seal(tmp_path, Origin("dataset", {"a": 1}, {"source": "s"}, seed=3))
    found = parse((tmp_path / MANIFEST).read_bytes(), tmp_path / MANIFEST)
    assert found["files"] == {"deep/x": {"bytes": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}}
    assert (found["kind"], found["settings"], found["made_from"], found["seed"]) == (
        "dataset",
        {"a": 1},
        {"source": "s"},
        3,
    )


@pytest.mark.parametrize("change", [{"settings": {"a": 2}}, {"made_from": {"x": "z"}}, {"seed": 2}, {"kind": "model"}])
def test_fingerprints_follow_everything(change):
    values = {"kind": "dataset", "settings": {"a": 1}, "made_from": {"x": "y"}, "seed": 1}
    assert Origin(**values).fingerprint == Origin(**json.loads(json.dumps(values))).fingerprint
    assert Origin(**values).fingerprint != Origin(**{**values, **change}).fingerprint
