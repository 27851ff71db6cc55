from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from sidrec.core.errors import ArtifactError
from sidrec.embeddings.vector_file import create_vectors, open_vectors, save_vectors

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_the_file_is_safetensors_for_everyone_else(tmp_path):
    save_vectors(tmp_path / "ours.safetensors", VECTORS)
    np.testing.assert_array_equal(load_file(tmp_path / "ours.safetensors")["vectors"], VECTORS)
    save_file({"vectors": VECTORS}, tmp_path / "theirs.safetensors")
    np.testing.assert_array_equal(open_vectors(tmp_path / "theirs.safetensors"), VECTORS)


def test_rows_may_be_written_in_any_order(tmp_path):
    file = create_vectors(tmp_path / "v", 4, 3)
    for row in (2, 0, 3, 1):
        file[row] = VECTORS[row]
    file.flush()
    np.testing.assert_array_equal(open_vectors(tmp_path / "v"), VECTORS)


def test_writing_to_the_opened_matrix_leaves_the_file_alone(tmp_path):
    save_vectors(tmp_path / "v", VECTORS)
    opened = open_vectors(tmp_path / "v")
    opened[0] = 99
    np.testing.assert_array_equal(open_vectors(tmp_path / "v"), VECTORS)


@pytest.mark.parametrize("content", [b"", b"1234", b"\x04" + b"\0" * 7 + b"null", b"\xff" * 40])
def test_damage_is_an_error_in_words(tmp_path, content):
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(ArtifactError, match="is not a file of item vectors"):
        open_vectors(tmp_path / "v")


def test_a_cut_file_is_an_error_in_words(tmp_path):
    save_vectors(tmp_path / "v", VECTORS)
    (tmp_path / "v").write_bytes((tmp_path / "v").read_bytes()[:-8])
    with pytest.raises(ArtifactError, match="is not a file of item vectors"):
        open_vectors(tmp_path / "v")
