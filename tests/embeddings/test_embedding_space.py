from __future__ import annotations

import numpy as np
import pytest

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
