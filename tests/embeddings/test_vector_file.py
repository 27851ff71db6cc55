from __future__ import annotations

import os

import numpy as np
import pytest
from safetensors.numpy import save_file

from sidrec.core.errors import ArtifactError
from sidrec.embeddings.vector_file import create_vectors, open_vectors

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_the_file_is_a_plain_npy_for_everyone_else(tmp_path):
    file = create_vectors(tmp_path / "ours.npy", 4, 3)
    file[:] = VECTORS
    file.flush()
    np.testing.assert_array_equal(np.load(tmp_path / "ours.npy"), VECTORS)
    np.save(tmp_path / "theirs.npy", VECTORS)
    np.testing.assert_array_equal(open_vectors(tmp_path / "theirs.npy"), VECTORS)


def test_rows_may_be_written_in_any_order(tmp_path):
    file = create_vectors(tmp_path / "v.npy", 4, 3)
    for row in (2, 0, 3, 1):
        file[row] = VECTORS[row]
    file.flush()
    np.testing.assert_array_equal(open_vectors(tmp_path / "v.npy"), VECTORS)


def test_room_on_the_disk_is_taken_before_a_row_is_written(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(os, "posix_fallocate", lambda _, start, size: asked.append((start, size)))
    create_vectors(tmp_path / "v.npy", 1000, 10)
    assert asked == [(0, 128 + 40_000)]


def test_writing_to_the_opened_matrix_leaves_the_file_alone(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS)
    opened = open_vectors(tmp_path / "v.npy")
    opened[0] = 99
    np.testing.assert_array_equal(open_vectors(tmp_path / "v.npy"), VECTORS)


def test_the_file_of_version_0_1_is_read(tmp_path):
    save_file({"vectors": VECTORS}, tmp_path / "v.safetensors")
    np.testing.assert_array_equal(open_vectors(tmp_path / "v.safetensors", version_0_1=True), VECTORS)
    save_file({"others": VECTORS}, tmp_path / "v.safetensors")
    with pytest.raises(ArtifactError, match="has no tensor called vectors"):
        open_vectors(tmp_path / "v.safetensors", version_0_1=True)


@pytest.mark.parametrize("content", [b"", b"1234", b"\x93NUMPY\x01\x00v\x00{'descr': (", b"\xff" * 40, b"PK\x03\x04"])
def test_damage_is_an_error_in_words(tmp_path, content):
    (tmp_path / "v.npy").write_bytes(content)
    with pytest.raises(ArtifactError, match=r"is not a readable \.npy file"):
        open_vectors(tmp_path / "v.npy")


def test_a_cut_file_and_one_that_claims_too_much_are_errors_in_words(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS)
    whole = (tmp_path / "v.npy").read_bytes()
    for content in (whole[:-8], whole.replace(b"(4, 3), }     ", b"(4000000, 3),}")):
        (tmp_path / "v.npy").write_bytes(content)
        with pytest.raises(ArtifactError, match=r"is not a readable \.npy file"):
            open_vectors(tmp_path / "v.npy")


@pytest.mark.parametrize("array", [VECTORS.astype(np.float64), VECTORS[0], VECTORS[:, :0], np.array([["a"]])])
def test_other_kinds_and_shapes_are_refused(tmp_path, array):
    np.save(tmp_path / "v.npy", array)
    with pytest.raises(ArtifactError, match="holds no table of float32 numbers"):
        open_vectors(tmp_path / "v.npy")
