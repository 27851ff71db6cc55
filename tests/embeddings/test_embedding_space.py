from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from sidrec.core.errors import ArtifactError
from sidrec.embeddings.base import EncoderState
from sidrec.embeddings.embedding_space import EmbeddingSpace
from sidrec.embeddings.projection import Projection

WIDE = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_a_space_with_everything_comes_back(tmp_path):
    projection = Projection(WIDE[:, 0].copy(), WIDE.T, WIDE[0])  # a transposed view: its rows must not be scrambled
    state = EncoderState(["ä", "b"], {"idf": WIDE[0], "components": WIDE})
    EmbeddingSpace({"encoder": "tfidf"}, WIDE[1], projection, state).write_files(tmp_path)
    found = EmbeddingSpace.read_files(tmp_path)
    assert found.settings == {"encoder": "tfidf"}
    assert found.state.words == ["ä", "b"]
    np.testing.assert_array_equal(found.state.arrays["components"], WIDE)
    np.testing.assert_array_equal(found.projection.components, WIDE.T)
    np.testing.assert_array_equal(found.missing_vector, WIDE[1])
    assert found.width == 2


def test_a_space_with_nothing_learned_comes_back(tmp_path):
    EmbeddingSpace({"encoder": "minilm"}, WIDE[1]).write_files(tmp_path)
    found = EmbeddingSpace.read_files(tmp_path)
    assert (found.projection, found.state) == (None, None)


def test_absent_files_are_named(tmp_path):
    with pytest.raises(ArtifactError, match=r"embedding_space\.json: missing"):
        EmbeddingSpace.read_files(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"missing_vector": WIDE[:, 0]}, "a projection whose parts do not fit together"),
        ({"projection.scale": WIDE[:, 0]}, "a projection whose parts do not fit together"),
        ({"projection.components": WIDE[0]}, "projection.components has the wrong kind or shape"),
        ({"encoder.idf": WIDE[0].astype(np.int64)}, "encoder.idf has the wrong kind or shape"),
        ({"missing_vector": None}, "has no missing_vector"),
        ({"projection.mean": None}, "a projection whose parts do not fit together"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(tmp_path, change, said):
    state = EncoderState(["a", "b"], {"idf": WIDE[0], "components": WIDE})
    EmbeddingSpace({}, WIDE[1], Projection(WIDE[:, 0].copy(), WIDE.T, WIDE[0]), state).write_files(tmp_path)
    numbers = {**load_file(tmp_path / "embedding_space.safetensors"), **change}
    kept = {name: np.ascontiguousarray(array) for name, array in numbers.items() if array is not None}
    save_file(kept, tmp_path / "embedding_space.safetensors")
    with pytest.raises(ArtifactError, match=said):
        EmbeddingSpace.read_files(tmp_path)


def test_words_that_are_no_words_are_refused(tmp_path):
    EmbeddingSpace({}, WIDE[1]).write_files(tmp_path)
    (tmp_path / "embedding_space.json").write_text('{"settings": {}, "encoder_words": ["a", 3]}')
    with pytest.raises(ArtifactError, match=r"embedding_space\.json: encoder_words\.1: input should be a valid string"):
        EmbeddingSpace.read_files(tmp_path)
