"""A model's item vectors are one more way to IDs: the rest of the way is the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reference.small_plan import TOKENIZER, small_shop
from sidrec.core.errors import InputError, SettingsError
from sidrec.core.progress import SilentProgress
from sidrec.core.stages import Stages
from sidrec.data.dataset import Dataset
from sidrec.embeddings.embed import embed_catalog
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.models import registry
from sidrec.models.ingredients import Data, Ids, SavedModel, TrainedModel, Vectors, in_memory, inside, vectors_of
from sidrec.models.registry import ModelRow, find_model, load_model
from sidrec.sids.tokenize import TokenizeSettings, tokenize

SOURCE = {"d_model": 8, "n_layers": 1, "training": {"epochs": 2, "batch_size": 32, "seed": 3}}
FROM_MODEL = {"from_model": "sasrec-ce", "model_settings": SOURCE}
SMALL = {"d_model": 8, "n_layers": 1, "n_heads": 2, "tokenize": TOKENIZER, "training": {"epochs": 1, "batch_size": 32}}


@pytest.fixture
def data(tmp_path) -> Dataset:
    return Dataset.load(small_shop(tmp_path))


@pytest.fixture
def sas_row(monkeypatch) -> str:
    """A row of the registry that is LLaDA-Rec with IDs from a trained sasrec-ce, and nothing else."""
    where = ("sidrec.models.llada_rec.recommender", "LLaDARec", "semantic-id", "IDs from a trained sasrec-ce")
    row = ModelRow("llada-sas", *where, {"embedding": FROM_MODEL})
    monkeypatch.setattr(registry, "MODELS", (*registry.MODELS, row))
    return row.key


def by_hand(data: Dataset) -> np.ndarray:
    source = find_model("sasrec-ce").make(**SOURCE).fit(data)
    vectors = embed_catalog(data.catalog, EmbeddingSettings(encoder="given"), given=vectors_of(source))
    return tokenize(vectors, TokenizeSettings(**TOKENIZER)).ids.codes


@pytest.mark.slow
def test_ids_of_a_trained_models_vectors_by_a_row_of_the_registry(data, sas_row, tmp_path):
    model = find_model(sas_row).make(**SMALL).fit(data, out=tmp_path / "model")
    assert model.semantic_ids.codes.tolist() == by_hand(data).tolist()
    assert load_model(tmp_path / "model").semantic_ids.codes.tolist() == model.semantic_ids.codes.tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "shop"]
    text = find_model("llada-rec").make(**SMALL, embedding={"encoder": "tfidf"}).fit(data)
    assert text.semantic_ids.codes.tolist() != model.semantic_ids.codes.tolist()


@pytest.mark.slow
def test_what_is_kept_is_made_once(data, sas_row, tmp_path, monkeypatch):
    for name in ("one", "two"):
        model = find_model(sas_row).make(**SMALL)
        model.ingredients = tmp_path / "kept"
        model.fit(data, out=tmp_path / name)
        # the second finds everything: making anything would fail
        monkeypatch.setattr("sidrec.models.ingredients.embed_catalog", finding(embed_catalog, tmp_path))
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["embeddings", "models", "sids"]


def finding(embed, folder: Path):
    def find(catalog, settings, progress, out, given):
        assert out is not None and (out / "manifest.json").is_file()
        return embed(catalog, settings, progress, out, given)

    return find


def test_names_tell_stages_apart():
    data = Data("shop")
    text, other = Vectors(data, EmbeddingSettings(encoder="tfidf")), Vectors(data, EmbeddingSettings(**FROM_MODEL))
    assert text.name.startswith("shop-tfidf-") and other.name.startswith("shop-sasrec-ce-")
    assert Ids(text, TokenizeSettings()).name != Ids(other, TokenizeSettings()).name
    assert Vectors(Data("b"), text.settings).name != text.name
    assert [type(need) for need in text.needs] == [Data]
    assert other.needs == (data, TrainedModel(data, "sasrec-ce", SOURCE, seed=3))


def test_a_directory_is_loaded_and_a_key_is_trained(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    find_model("sasrec-ce").make(**SOURCE).fit(data, out=tmp_path / "sasrec-ce")
    saved = Vectors(in_memory(data), EmbeddingSettings(from_model="./sasrec-ce"))
    assert saved.needs[1] == SavedModel(Path("./sasrec-ce"))
    assert isinstance(Vectors(in_memory(data), EmbeddingSettings(from_model="sasrec-ce")).needs[1], TrainedModel)
    found = Stages(inside(None), SilentProgress()).get(Ids(saved, TokenizeSettings(**TOKENIZER)))
    assert found.ids.codes.tolist() == by_hand(data).tolist()


def test_models_that_are_not_there_or_have_no_vectors(data):
    def make(**settings) -> None:
        Stages(inside(None), SilentProgress()).get(Vectors(in_memory(data), EmbeddingSettings(**settings)))

    with pytest.raises(SettingsError, match="'sasrec-cf' is not a model; did you mean sasrec-ce"):
        make(from_model="sasrec-cf")
    with pytest.raises(InputError, match="popularity has no item vectors"):
        make(from_model="popularity")
    with pytest.raises(SettingsError, match="d_modle is not a setting of sasrec-ce"):
        make(from_model="sasrec-ce", model_settings={"d_modle": 8})


@pytest.mark.parametrize(
    "values",
    [
        {"from_model": "sasrec-ce", "encoder": "tfidf"},
        {"from_model": "sasrec-ce", "vectors": "v.npy"},
        {"model_settings": {"d_model": 8}},
    ],
)
def test_one_source_of_vectors(values):
    with pytest.raises(SettingsError, match="from_model"):
        EmbeddingSettings.parse(values, owner="embed")
    assert EmbeddingSettings(from_model="sasrec-ce").encoder == EmbeddingSettings(vectors="v.npy").encoder == "given"
