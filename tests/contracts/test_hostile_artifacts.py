"""Whatever stands in the files of an artefact, loading it ends well or in one sentence: never in another exception."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference.mutations import mutated
from sidrec.core.errors import SidrecError
from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import demo_shop
from sidrec.embeddings.embed import EmbeddingSettings, embed_catalog
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.evaluation.evaluate import evaluate
from sidrec.evaluation.results import Evaluation
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.popularity import Popularity
from sidrec.models.registry import find_model, load_model
from sidrec.sids.tokenize import TokenizeSettings, tokenize
from sidrec.sids.tokenized_items import TokenizedItems

IDS = {"tokenizer": "rq-kmeans", "options": {"n_codes": 2, "codebook_size": 8, "pca": 4}}
TINY = {"d_model": 8, "n_heads": 2, "n_layers": 1, "max_history": 4, "training": {"epochs": 1, "metric": None}}
LOADERS = {
    "dataset": Dataset.load,
    "embeddings": ItemEmbeddings.load,
    "sids": TokenizedItems.load,
    "popularity": load_model,
    "sasrec-ce": load_model,
    "llada-rec": load_model,
    "evaluation": Evaluation.load,
}
N_FAST, N_SLOW = 20, 40


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("artifacts")
    data = Dataset.load(demo_shop(n_items=40, n_users=30).save(folder / "dataset"))
    settings = EmbeddingSettings(encoder="tfidf", pca=8)
    embeddings = embed_catalog(data.catalog, settings, out=folder / "embeddings")
    tokenize(embeddings, TokenizeSettings(**IDS), out=folder / "sids")
    popular = Popularity().fit(data)
    popular.save(folder / "popularity")
    sasrec = find_model("sasrec-ce").load_class()
    sasrec(d_model=8, n_layers=1, training={"epochs": 1, "metric": None}).fit(data).save(folder / "sasrec-ce")
    LLaDARec(**TINY, embedding={"encoder": "tfidf"}, tokenize=IDS).fit(data).save(folder / "llada-rec")
    evaluate(popular, data).save(folder / "evaluation")
    return folder


def problems(artifact: Path, out: Path, load, seeds) -> list[str]:
    found = []
    for seed in seeds:
        path, change = mutated(artifact, out, seed)
        try:
            load(path)
        except SidrecError as error:
            if "\n" in str(error).replace("\nsettings", "") and "settings" not in change and "manifest" not in change:
                found.append(f"{seed} {change}: more than one sentence: {error}")
        except BaseException as error:
            found.append(f"{seed} {change}: {type(error).__name__}: {str(error)[:160]}")
    return found


@pytest.mark.parametrize("kind", LOADERS)
def test_a_changed_artefact_loads_or_is_refused_in_words(artifacts, tmp_path, kind):
    assert problems(artifacts / kind, tmp_path / "copy", LOADERS[kind], range(N_FAST)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOADERS)
def test_many_changes(artifacts, tmp_path, kind):
    assert problems(artifacts / kind, tmp_path / "copy", LOADERS[kind], range(1000, 1000 + N_SLOW)) == []
