from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sidrec.core.artifacts import Origin, write
from sidrec.core.errors import ArtifactError
from sidrec.embeddings.embed import embed_new
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


def test_a_changed_byte_is_noticed(tmp_path):
    ItemEmbeddings(["a", "b", "c"], VECTORS, SILENT).save(tmp_path / "emb")
    file = tmp_path / "emb" / "vectors.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ArtifactError, match=r"vectors\.npy: its content has changed"):
        ItemEmbeddings.load(tmp_path / "emb")


@pytest.mark.parametrize(("missing", "stands_for"), [("mean", [2, 4]), ("zero", [0, 0])])
def test_a_silent_new_item_gets_what_the_old_ones_got(missing, stands_for):
    space = ItemEmbeddings(["a", "b", "c"], VECTORS, SILENT, settings={"missing": missing}).space()
    np.testing.assert_array_equal(space.missing_vector, stands_for)


def test_embeddings_of_version_0_1_are_read():
    found = ItemEmbeddings.load(Path(__file__).parent / "written_by_0_1")
    assert found.item_ids == list("abcdef")
    assert found.missing_text.tolist() == [False, False, True, False, False, False]
    np.testing.assert_allclose(found.vectors[3], [0.54594034, 0.6161371, -0.31013203], atol=1e-7)
    blue_lamp = embed_new(pl.DataFrame({"item_id": ["n"], "title": ["blue lamp"]}), found)
    np.testing.assert_allclose(blue_lamp, [[-0.50402933, 0.31588164, 0.39183736]], atol=1e-6)


def test_files_that_do_not_fit_together_are_refused(tmp_path):
    ItemEmbeddings(["a", "b", "c"], VECTORS, SILENT).save(tmp_path / "emb")
    with write(tmp_path / "emb2", Origin("embeddings")) as directory:
        shutil.copytree(tmp_path / "emb", directory, dirs_exist_ok=True)
        np.save(directory / "vectors.npy", VECTORS[:2])
    with pytest.raises(ArtifactError, match=r"3 items and a space of 2 for vectors \(2, 2\)"):
        ItemEmbeddings.load(tmp_path / "emb2")


def test_the_mean_of_no_rows_is_zero():
    np.testing.assert_array_equal(mean_vector(VECTORS, np.zeros(3, dtype=bool)), [0, 0])
