from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from sidrec.core.artifacts import Origin, open_artifact, opened, write
from sidrec.core.errors import ArtifactError
from sidrec.embeddings.base import EncoderState
from sidrec.embeddings.embedding_space import EmbeddingSpace
from sidrec.embeddings.projection import Projection


def back(space: EmbeddingSpace, path: Path) -> EmbeddingSpace:
    with write(path, Origin("sids")) as directory:
        space.write_files(directory)
    return read(path)


def read(path: Path) -> EmbeddingSpace:
    with opened(path) as artifact:
        return EmbeddingSpace.read_files(artifact)


WIDE = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_a_space_with_everything_comes_back(tmp_path):
    projection = Projection(WIDE[:, 0].copy(), WIDE.T, WIDE[0])  # a transposed view: its rows must not be scrambled
    state = EncoderState(["ä", "b"], {"idf": WIDE[0], "components": WIDE})
    found = back(EmbeddingSpace({"encoder": "tfidf"}, WIDE[1], projection, state), tmp_path / "made")
    assert found.settings == {"encoder": "tfidf"}
    assert found.state.words == ["ä", "b"]
    np.testing.assert_array_equal(found.state.arrays["components"], WIDE)
    np.testing.assert_array_equal(found.projection.components, WIDE.T)
    np.testing.assert_array_equal(found.missing_vector, WIDE[1])
    assert found.width == 2


def test_a_space_with_nothing_learned_comes_back(tmp_path):
    found = back(EmbeddingSpace({"encoder": "minilm"}, WIDE[1]), tmp_path / "made")
    assert (found.projection, found.state) == (None, None)


def test_absent_files_are_named(tmp_path):
    with write(tmp_path / "made", Origin("sids")):
        pass
    with pytest.raises(ArtifactError, match=r"made: has no file embedding_space"):
        EmbeddingSpace.read_files(open_artifact(tmp_path / "made"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"missing_vector": WIDE[:, 0]}, "a projection whose parts do not fit together"),
        ({"projection.scale": WIDE[:, 0]}, "a projection whose parts do not fit together"),
        ({"projection.components": WIDE[0]}, "projection.components has the wrong kind or shape"),
        ({"encoder.idf": WIDE[0].astype(np.int64)}, "encoder.idf has the wrong kind or shape"),
        ({"missing_vector": None}, "has no missing_vector"),
        ({"missing_vector": WIDE[0, :0]}, "has no missing_vector"),
        ({"missing_vector": WIDE[0] * np.nan}, "missing_vector holds NaN"),
        ({"encoder.components": WIDE[:2]}, "its encoder gives 2 numbers, not 3"),
        ({"projection.mean": None}, "a projection whose parts do not fit together"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(tmp_path, change, said):
    state = EncoderState(["a", "b"], {"idf": WIDE[0], "components": WIDE})
    with write(tmp_path / "made", Origin("sids")) as directory:
        EmbeddingSpace({}, WIDE[1], Projection(WIDE[:, 0].copy(), WIDE.T, WIDE[0]), state).write_files(directory)
        numbers = {**load_file(directory / "embedding_space.safetensors"), **change}
        kept = {name: np.ascontiguousarray(array) for name, array in numbers.items() if array is not None}
        save_file(kept, directory / "embedding_space.safetensors")
    with pytest.raises(ArtifactError, match=rf"made/embedding_space\.safetensors: .*{said}"):
        read(tmp_path / "made")


def test_words_that_are_no_words_are_refused(tmp_path):
    with write(tmp_path / "made", Origin("sids")) as directory:
        EmbeddingSpace({}, WIDE[1]).write_files(directory)
        (directory / "embedding_space.json").write_text('{"settings": {}, "encoder_words": ["a", 3]}')
    with pytest.raises(
        ArtifactError, match=r"made/embedding_space\.json: encoder_words\.1: input should be a valid string"
    ):
        read(tmp_path / "made")
