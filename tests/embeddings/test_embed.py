from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from reference.letters_encoder import LettersEncoder
from reference.principal_axes import principal_axes
from sidrec.core.errors import ArtifactError, InputError, SettingsError
from sidrec.core.progress import SilentProgress
from sidrec.core.replacing import replacing
from sidrec.data.catalog import Catalog
from sidrec.embeddings import embed, raw_vectors
from sidrec.embeddings.embed import embed_catalog, embed_new
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.given_vectors import GivenVectors
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.embeddings.raw_vectors import Blocks

TEXTS = ["aab", "c", None, "bbb", "c", "abc"]
COUNTS = [[2, 1, 0], [0, 0, 1], None, [0, 3, 0], [0, 0, 1], [1, 1, 1]]
MEAN = [0.6, 1.0, 0.6]
CATALOG = Catalog(pl.DataFrame({"item_id": list("uvwxyz"), "title": TEXTS}))


class Notes(SilentProgress):
    def __init__(self):
        self.lines = []

    def note(self, text):
        self.lines.append(text)


@pytest.fixture
def letters(monkeypatch):
    """The countable encoder in place of any other, two texts to a block."""
    encoders = [LettersEncoder()]
    monkeypatch.setattr(embed, "find_encoder", lambda name, options: encoders[-1])
    monkeypatch.setattr(raw_vectors, "Blocks", lambda n_rows, directory=None: Blocks(n_rows, directory, size=2))
    return encoders


def files_of(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize(("missing", "fills"), [("mean", MEAN), ("zero", [0, 0, 0])])
def test_every_item_gets_its_vector_and_silent_items_the_stated_one(letters, tmp_path, on_disk, missing, fills):
    notes = Notes()
    found = embed_catalog(CATALOG, EmbeddingSettings(missing=missing), notes, tmp_path / "emb" if on_disk else None)
    np.testing.assert_allclose(found.vectors, [row or fills for row in COUNTS], atol=1e-6)
    assert found.missing_text.tolist() == [False, False, True, False, False, False]
    assert notes.lines[0].startswith("1 of 6 items have no text")


def test_equal_texts_are_read_once(letters):
    embed_catalog(CATALOG)
    assert sorted(letters[0].read) == ["aab", "abc", "bbb", "c"]


def test_a_refusal_names_the_first_silent_item(letters):
    with pytest.raises(InputError, match="1 of 6 items have no text, first 'w'"):
        embed_catalog(CATALOG, EmbeddingSettings(missing="error"))
    with pytest.raises(InputError, match="none of the 6 items has text in title"):
        embed_catalog(Catalog(CATALOG.frame.with_columns(title=pl.lit(" "))))


@pytest.mark.parametrize("dies_after", [1, 2, 3])
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(letters, tmp_path, dies_after):
    settings = EmbeddingSettings(pca=2, whiten=True)
    embed_catalog(CATALOG, settings, out=tmp_path / "whole")
    letters.append(LettersEncoder(dies_after))
    with pytest.raises(KeyboardInterrupt):
        embed_catalog(CATALOG, settings, out=tmp_path / "killed")
    assert not (tmp_path / "killed").exists()
    letters.append(LettersEncoder())
    embed_catalog(CATALOG, settings, out=tmp_path / "killed")
    assert len(letters[-1].read) == (4 if dies_after == 1 else 2)
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed", "whole"]


def test_finished_work_is_skipped_and_changed_text_or_settings_are_not(letters, tmp_path):
    first = embed_catalog(CATALOG, out=tmp_path / "emb")
    letters.append(LettersEncoder())
    notes = Notes()
    again = embed_catalog(CATALOG, EmbeddingSettings(batch_size=3), notes, tmp_path / "emb")
    assert letters[-1].read == []
    assert again.fingerprint == first.fingerprint
    assert notes.lines == [f"{tmp_path / 'emb'}: already there, nothing to do."]
    changed = Catalog(CATALOG.frame.with_columns(title=pl.col("title") + "a"))
    with replacing():
        np.testing.assert_array_equal(embed_catalog(changed, out=tmp_path / "emb").vectors[0], [3, 1, 0])
        assert embed_catalog(changed, EmbeddingSettings(missing="zero"), out=tmp_path / "emb").vectors[2].sum() == 0


def test_pca_counts_items_and_is_saved(letters, tmp_path):
    found = embed_catalog(CATALOG, EmbeddingSettings(pca=2, whiten=True), out=tmp_path / "emb")
    raw = np.array([row for row in COUNTS if row], dtype=np.float32)
    np.testing.assert_allclose(found.vectors[~found.missing_text], principal_axes(raw, 2, whiten=True), atol=1e-5)
    np.testing.assert_allclose(found.vectors[2], [0, 0], atol=1e-6)  # the mean item is the origin
    np.testing.assert_allclose(
        ItemEmbeddings.load(tmp_path / "emb").projection.apply(raw), found.vectors[[0, 1, 3, 4, 5]]
    )


def test_fewer_directions_than_asked_are_said(letters):
    notes = Notes()
    two = Catalog(CATALOG.frame.head(2))
    assert embed_catalog(two, EmbeddingSettings(pca=3), notes).width == 1
    assert notes.lines == ["pca keeps 1 axes instead of 3: the vectors have no more directions"]


def test_identical_vectors_are_said(letters):
    notes = Notes()
    embed_catalog(Catalog(CATALOG.frame[[1, 4]]), None, notes)
    assert notes.lines[0].startswith("all item vectors are identical")


@pytest.mark.parametrize("pca", [None, 2])
def test_new_items_land_where_they_would_have_been(letters, tmp_path, pca):
    old = embed_catalog(CATALOG, EmbeddingSettings(pca=pca), out=tmp_path / "emb")
    loaded = ItemEmbeddings.load(tmp_path / "emb")
    new = CATALOG.frame.with_columns(item_id=pl.lit("new"), extra=pl.lit("ccc"))
    np.testing.assert_allclose(embed_new(new, loaded), old.vectors, atol=1e-6)
    np.testing.assert_allclose(embed_new(Catalog(new), loaded.space()), old.vectors, atol=1e-6)


def test_new_items_that_cannot_be_read_are_refused(letters):
    silent = pl.DataFrame({"item_id": ["n"], "title": [""]})
    strict = embed_catalog(Catalog(CATALOG.frame[[0, 1]]), EmbeddingSettings(missing="error"))
    with pytest.raises(InputError, match="1 of 1 items have no text, first 'n'"):
        embed_new(silent, strict)
    with pytest.raises(InputError, match="at least one of the text fields title"):
        embed_new(silent.rename({"title": "name"}), strict)
    given = embed_catalog(CATALOG, given=GivenVectors(np.eye(6, dtype=np.float32), "mine"))
    with pytest.raises(InputError, match="were given, not made from text"):
        embed_new(silent, given)


def test_new_items_from_an_encoder_of_another_width_are_refused(letters):
    narrow = replace(embed_catalog(CATALOG).space(), missing_vector=np.zeros(2, np.float32))
    with pytest.raises(ArtifactError, match=r"come from an encoder of 2 numbers, .* gives 3; embed the items again"):
        embed_new(pl.DataFrame({"item_id": ["n"], "title": ["ab"]}), narrow)


def test_new_items_are_read_in_the_old_order_of_fields(letters):
    old = pl.DataFrame({"item_id": ["1"], "title": ["a"], "brand": ["b"], "tags": [["c"]]})
    embeddings = embed_catalog(Catalog(old))
    letters.append(LettersEncoder())
    embed_new(old.select("tags", "brand", "title", "item_id"), embeddings)
    embed_new(old.with_columns(brand=None), embeddings)
    assert letters[-1].read == ["a. b. c", "a. c"]


def test_names_that_lead_nowhere_leave_nothing_behind(tmp_path):
    with pytest.raises(SettingsError, match="hand them over in a file"):
        embed_catalog(CATALOG, EmbeddingSettings(encoder="given"), out=tmp_path / "emb")
    with pytest.raises(SettingsError, match="Did you mean minilm"):
        embed_catalog(CATALOG, EmbeddingSettings(encoder="minilmm"), out=tmp_path / "emb")
    with pytest.raises(InputError, match="the catalogue has no items"):
        embed_catalog(Catalog(CATALOG.frame.head(0)), out=tmp_path / "emb")
    assert list(tmp_path.iterdir()) == []


def test_tfidf_embeds_new_items_after_loading(tmp_path):
    items = Catalog(pl.DataFrame({"item_id": ["1", "2", "3"], "title": ["red coat", "blue coat", "緑の本"]}))
    old = embed_catalog(items, EmbeddingSettings(encoder="tfidf"), out=tmp_path / "emb")
    np.testing.assert_allclose(embed_new(items, ItemEmbeddings.load(tmp_path / "emb")), old.vectors, atol=1e-6)
    assert old.vectors[0] @ old.vectors[1] > 0.1 > old.vectors[0] @ old.vectors[2]


def test_given_vectors_take_the_encoders_place(tmp_path):
    rows = np.arange(18, dtype=np.float32).reshape(6, 3) ** 2
    np.save(tmp_path / "mine.npy", rows)
    settings = EmbeddingSettings(encoder="given", vectors=tmp_path / "mine.npy")
    found = embed_catalog(CATALOG, settings, out=tmp_path / "emb")
    np.testing.assert_array_equal(found.vectors, rows)
    assert (found.source, found.missing_text.any()) == ("mine.npy", False)
    np.save(tmp_path / "mine.npy", rows + 1)
    with replacing():
        np.testing.assert_array_equal(embed_catalog(CATALOG, settings, out=tmp_path / "emb").vectors, rows + 1)


def test_a_broken_encoder_is_named_with_the_item(letters, monkeypatch):
    def broken(self, texts):
        yield np.arange(len(texts)), np.full((len(texts), 3), np.nan if "bbb" in texts else 1, dtype=np.float32)

    monkeypatch.setattr(LettersEncoder, "batches", broken)
    with pytest.raises(InputError, match="the encoder: the vector of item 'x' holds NaN"):
        embed_catalog(CATALOG)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"whiten": True}, "needs pca"),
        ({"vectors": "a.npy", "encoder": "tfidf"}, "encoder must be 'given'"),
        ({"encoder": "given", "fields": ["title"]}, "the vectors are given"),
        ({"encoder": "tfidf", "max_tokens": 64}, "max_tokens has no meaning for tfidf"),
        ({"encodr": "tfidf"}, "did you mean encoder"),
        ({"pca": 0}, "greater than or equal to 1"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(values, message):
    with pytest.raises(SettingsError, match=message):
        EmbeddingSettings.parse(values, owner="embed")
