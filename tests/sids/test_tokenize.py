from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sidrec.core.artifacts import Origin, open_artifact, write
from sidrec.core.errors import ArtifactError, InputError, SettingsError
from sidrec.core.progress import SilentProgress
from sidrec.core.replacing import replacing
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.sids.tokenize import TokenizeSettings, tokenize
from sidrec.sids.tokenized_items import TokenizedItems

SETTINGS = TokenizeSettings(tokenizer="rq-kmeans", options={"codebook_size": 8, "n_codes": 3, "pca": 6})


def embeddings(n_items: int = 120, seed: int = 0) -> ItemEmbeddings:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(30, 8))[rng.integers(0, 30, n_items)] + 0.05 * rng.normal(size=(n_items, 8))
    vectors[1] = vectors[0]
    missing = np.arange(n_items) < 2
    return ItemEmbeddings([f"i{item}" for item in range(n_items)], vectors.astype(np.float32), missing, fingerprint="f")


class Notes(SilentProgress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


def test_every_item_gets_an_id_of_its_own() -> None:
    result = tokenize(embeddings(), SETTINGS)
    assert result.report["collisions_before"] > 0
    assert result.report["unique_ids"] == result.ids.n_unique == 120
    assert result.report["collisions_after"] == 0
    assert result.report["identical_vectors"] == result.report["items_without_text"] == 2


@pytest.mark.slow
def test_what_is_written_comes_back_and_is_not_made_twice(tmp_path: Path) -> None:
    first = tokenize(embeddings(), SETTINGS, out=tmp_path / "ids")
    names = {file.name for file in (tmp_path / "ids").iterdir()}
    assert {"codes.parquet", "tokenizer.safetensors", "tokenizer.json", "report.json", "report.html"} <= names
    assert [path.name for path in tmp_path.iterdir()] == ["ids"]
    notes = Notes()
    again = tokenize(embeddings(), SETTINGS, notes, out=tmp_path / "ids")
    assert notes.lines and "already there" in notes.lines[0]
    assert again.ids.codes.tolist() == first.ids.codes.tolist()
    other = SETTINGS.model_copy(update={"collisions": "keep"})
    with replacing():
        assert tokenize(embeddings(), other, out=tmp_path / "ids").report["collisions_after"] > 0


@pytest.mark.parametrize("policy", ["unique", "extra-code", "sinkhorn"])
@pytest.mark.slow
def test_new_items_get_free_ids_and_old_ones_stay(tmp_path: Path, policy: str) -> None:
    settings = SETTINGS.model_copy(update={"collisions": policy})
    old = tokenize(embeddings(), settings, out=tmp_path / "ids")
    before = (tmp_path / "ids" / "codes.parquet").read_bytes()
    vectors = np.concatenate([embeddings().vectors[:40], embeddings(seed=5).vectors[:40]])
    more = TokenizedItems.load(tmp_path / "ids").with_new_items(vectors, [f"n{item}" for item in range(80)])
    assert more.ids.codes[:120].tobytes() == old.ids.codes.tobytes()
    assert (tmp_path / "ids" / "codes.parquet").read_bytes() == before
    old_ids = {tuple(row) for row in old.ids.codes.tolist()}
    new_ids = [tuple(row) for row in more.ids.codes[120:].tolist()]
    assert len(set(new_ids)) == 80 and not old_ids & set(new_ids)


def test_new_items_that_are_not_new_or_do_not_fit_are_refused() -> None:
    result = tokenize(embeddings(), SETTINGS)
    with pytest.raises(InputError, match="'i3' already has an ID"):
        result.with_new_items(embeddings().vectors[:1], ["i3"])
    with pytest.raises(InputError, match="given twice"):
        result.with_new_items(embeddings().vectors[:2], ["x", "x"])
    with pytest.raises(InputError, match="one vector per item"):
        result.with_new_items(embeddings().vectors[:2], ["x"])
    with pytest.raises(InputError, match="fitted on 8"):
        result.with_new_items(np.ones((1, 5), np.float32), ["x"])
    many = np.random.default_rng(0).normal(size=(400, 8)).astype(np.float32)
    with pytest.raises(InputError, match="520 items need an ID each"):
        result.with_new_items(many, [f"n{item}" for item in range(400)])


def test_more_items_than_ids_are_refused_before_training() -> None:
    settings = TokenizeSettings(tokenizer="multi-head-vqvae", options={"codebook_size": 4, "n_codes": 3})
    with pytest.raises(InputError, match="n_codes=4 with codebook_size=4, or n_codes=3 with codebook_size=5"):
        tokenize(embeddings(), settings)


def test_identical_vectors_get_ids_of_their_own() -> None:
    same = ItemEmbeddings([str(item) for item in range(50)], np.ones((50, 4), np.float32), np.zeros(50, bool))
    result = tokenize(same, SETTINGS)
    assert result.report["unique_ids"] == 50 and result.report["identical_vectors"] == 50


def test_unknown_names_are_said_in_words() -> None:
    with pytest.raises(SettingsError, match="did you mean rq-kmeans"):
        tokenize(embeddings(), TokenizeSettings(tokenizer="rq-kmean"))
    with pytest.raises(SettingsError, match="collisions"):
        TokenizeSettings.parse({"collisions": "uniqe"}, owner="tokenize")
    with pytest.raises(SettingsError, match="did you mean n_codes"):
        tokenize(embeddings(), TokenizeSettings(tokenizer="opq", options={"n_code": 3}))


def test_the_space_of_the_embeddings_is_kept(tmp_path: Path) -> None:
    tokenize(embeddings(), SETTINGS, out=tmp_path / "ids")
    space = TokenizedItems.load(tmp_path / "ids").space
    assert space is not None and space.width == 8


@pytest.mark.slow
def test_a_space_of_another_width_than_the_tokenizers_is_refused(tmp_path: Path) -> None:
    tokenize(embeddings(), SETTINGS, out=tmp_path / "ids")
    found = TokenizedItems.load(tmp_path / "ids")
    narrow = replace(found.space, missing_vector=np.zeros(3, np.float32))
    with write(tmp_path / "odd", Origin("sids")) as directory:
        replace(found, space=narrow).write_files(directory)
    with pytest.raises(ArtifactError, match="a tokenizer of vectors of 8 numbers, the items' have 3"):
        TokenizedItems.load(tmp_path / "odd")


def test_vectors_that_stay_on_disk_are_taken_as_they_are(tmp_path: Path) -> None:
    embeddings().save(tmp_path / "emb")
    settings = SETTINGS.model_copy(update={"options": {"codebook_size": 8, "n_codes": 3, "pca": None}})
    from_disk = tokenize(ItemEmbeddings.load(tmp_path / "emb"), settings)
    assert (from_disk.ids.codes == tokenize(embeddings(), settings).ids.codes).all()


@pytest.mark.slow
def test_ids_from_text_and_collaborative_vectors(tmp_path: Path) -> None:
    text, rng = embeddings(), np.random.default_rng(5)
    learned = ItemEmbeddings(
        text.item_ids, rng.normal(size=(len(text.item_ids), 6)).astype(np.float32), text.missing_text, fingerprint="one"
    )
    both = TokenizeSettings(tokenizer="rq-kmeans", options={"codebook_size": 16, "inputs": "both"})
    made = tokenize(text, both, out=tmp_path / "ids", collaborative=learned)
    assert made.ids.n_unique == made.ids.n_items
    assert (made.ids.codes == tokenize(text, both, collaborative=learned).ids.codes).all()
    assert open_artifact(tmp_path / "ids").made_from == {"embeddings": text.fingerprint, "collaborative": "one"}
    grown = TokenizedItems.load(tmp_path / "ids").with_new_items(text.vectors[:2], ["new", "newer"])
    assert grown.ids.n_items == made.ids.n_items + 2
    notes = Notes()
    with replacing():
        tokenize(text, both, notes, tmp_path / "ids", collaborative=replace(learned, fingerprint="two"))
    assert notes.lines == []  # other vectors, so nothing is found finished
    with pytest.raises(SettingsError, match="needs collaborative vectors"):
        tokenize(text, both)
    with pytest.raises(InputError, match="are of other items"):
        tokenize(text, both, collaborative=replace(learned, item_ids=[f"x{item_id}" for item_id in text.item_ids]))


@pytest.mark.parametrize(("collisions", "n_codes"), [("unique", 3), ("extra-code", 4)])
def test_the_length_of_an_id_is_known_beforehand(collisions, n_codes):
    options = {"n_codes": 3, "codebook_size": 4}
    settings = TokenizeSettings(tokenizer="rq-kmeans", collisions=collisions, options=options)
    assert settings.check(64) == n_codes
    assert tokenize(embeddings(64), settings).ids.n_codes == n_codes


def test_vectors_beside_the_text_count_only_where_they_are_named() -> None:
    plain = TokenizeSettings(tokenizer="rq-kmeans")
    assert "collaborative" not in plain.method_values()  # what was made before is found again
    both = TokenizeSettings(tokenizer="letter", collaborative={"from_model": "sasrec-ce"})
    assert both.method_values()["collaborative"]["from_model"] == "sasrec-ce"
    assert both.check(100) == 4
    with pytest.raises(SettingsError, match="this letter needs collaborative vectors"):
        TokenizeSettings(tokenizer="letter").check(100)
    with pytest.raises(SettingsError, match="takes no collaborative vectors"):
        TokenizeSettings(collaborative={"from_model": "sasrec-ce"}).check(100)
