from __future__ import annotations

import numpy as np
import pytest

from sidrec.core.errors import ArtifactError
from sidrec.embeddings.item_embeddings import ItemEmbeddings, mean_vector

VECTORS = np.array([[1, 2], [3, 6], [50, 50]], dtype=np.float32)
SILENT = np.array([False, False, True])


def test_saved_embeddings_come_back_whole(tmp_path):
    saved = ItemEmbeddings(["a", "b", "ü"], VECTORS, SILENT, source="minilm", settings={"encoder": "minilm"})
    loaded = ItemEmbeddings.load(saved.save(tmp_path / "emb"))
    assert (loaded.item_ids, loaded.source, loaded.projection) == (["a", "b", "ü"], "minilm", None)
    assert loaded.settings == {"encoder": "minilm"}
    assert loaded.missing_text.tolist() == SILENT.tolist()
    np.testing.assert_array_equal(loaded.vectors, VECTORS)
    np.testing.assert_array_equal(loaded.project(VECTORS * 2), VECTORS * 2)


def test_a_changed_byte_is_noticed(tmp_path):
    ItemEmbeddings(["a", "b", "c"], VECTORS, SILENT).save(tmp_path / "emb")
    file = tmp_path / "emb" / "vectors.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ArtifactError, match=r"vectors\.safetensors: its content has changed"):
        ItemEmbeddings.load(tmp_path / "emb")


@pytest.mark.parametrize(("missing", "stands_for"), [("mean", [2, 4]), ("zero", [0, 0])])
def test_a_silent_new_item_gets_what_the_old_ones_got(missing, stands_for):
    space = ItemEmbeddings(["a", "b", "c"], VECTORS, SILENT, settings={"missing": missing}).space()
    np.testing.assert_array_equal(space.missing_vector, stands_for)


def test_the_mean_of_no_rows_is_zero():
    np.testing.assert_array_equal(mean_vector(VECTORS, np.zeros(3, dtype=bool)), [0, 0])
