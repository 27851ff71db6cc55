from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from sidrec.core import memory
from sidrec.core.checked_files import read_json, read_json_lines, read_tensors
from sidrec.core.errors import ArtifactError


@dataclass(frozen=True)
class Facts:
    name: str
    sizes: tuple[int, ...]
    share: float = 0.0
    more: dict[str, Any] = field(default_factory=dict)


def test_json_becomes_what_was_asked_for(tmp_path):
    (tmp_path / "a.json").write_text('{"name": "ü", "sizes": [1, 2], "share": 1, "unknown": null}')
    assert read_json(tmp_path / "a.json", Facts) == Facts("ü", (1, 2), 1.0)
    assert read_json(tmp_path / "a.json", dict[str, Any])["unknown"] is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "invalid JSON"),
        ("[1]", "input should be"),
        ('{"name": "a"}', "sizes: field required"),
        ('{"name": 1, "sizes": []}', "name: input should be a valid string"),
        ('{"name": "a", "sizes": ["1"]}', r"sizes\.0: input should be a valid integer"),
        ('{"name": "a", "sizes": [1.5]}', r"sizes\.0: input should be a valid integer"),
        ('{"name": "a", "sizes": true}', "sizes: input should be a valid array"),
        ("[" * 100_000, "invalid JSON"),
        ('{"name": "\\ud800", "sizes": []}', "invalid JSON"),
        ("\xff\xfe", "invalid JSON"),
    ],
)
def test_json_of_another_kind_is_named(tmp_path, text, said):
    (tmp_path / "a.json").write_text(text, encoding="latin-1")
    with pytest.raises(ArtifactError, match=rf"a\.json: {said}.*; make the artefact again\.$"):
        read_json(tmp_path / "a.json", Facts)


def test_absent_files_are_named(tmp_path):
    for read in (lambda file: read_json(file, Facts), read_tensors):
        with pytest.raises(ArtifactError, match=r"a\.file: missing; make the artefact again"):
            read(tmp_path / "a.file")


def test_lines_are_read_one_by_one(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"epoch": 1, "loss": 0.5}\n\n{"epoch": 2, "loss": NaN}\n')
    found = read_json_lines(tmp_path / "a.jsonl", dict[str, float])
    assert found[0] == {"epoch": 1.0, "loss": 0.5} and np.isnan(found[1]["loss"])
    (tmp_path / "a.jsonl").write_text('{"epoch": "x"}')
    with pytest.raises(ArtifactError, match="epoch: input should be a valid number"):
        read_json_lines(tmp_path / "a.jsonl", dict[str, float])


def test_tensors_come_back_and_damage_is_named(tmp_path):
    save_file({"a": np.ones((2, 3), np.float32)}, tmp_path / "a.safetensors")
    assert read_tensors(tmp_path / "a.safetensors")["a"].shape == (2, 3)
    whole = (tmp_path / "a.safetensors").read_bytes()
    for content in (b"", whole[:-1], whole.replace(b"[2,3]", b"[9,3]"), whole.replace(b"F32", b"X99"), b"\xff" * 64):
        (tmp_path / "a.safetensors").write_bytes(content)
        with pytest.raises(ArtifactError, match="is not a readable safetensors file"):
            read_tensors(tmp_path / "a.safetensors")


def test_what_is_larger_than_the_limit_is_not_read(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text('{"name": "a", "sizes": []}')
    monkeypatch.setenv(memory.LIMIT, "1e-8")
    with pytest.raises(ArtifactError, match=r"asks for 0\.0 GB of memory, the limit is .*SIDREC_MEMORY_LIMIT_GB"):
        read_json(tmp_path / "a.json", Facts)
