"""Whatever stands in the files of an artefact, using it ends well or in one sentence: never in another exception."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
import pytest

from disturb.mutations import mutated, reseal
from reference.small_plan import small_plan, small_shop
from reference.toy_task import Net, Task
from sidrec.core.errors import ArtifactError, SettingsError, SidrecError
from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import demo_shop
from sidrec.embeddings.embed import embed_catalog, embed_new
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.evaluation.evaluate import evaluate
from sidrec.evaluation.results import Evaluation
from sidrec.models.capabilities import AddsItems
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.popularity import Popularity
from sidrec.models.registry import find_model, load_model
from sidrec.pipeline.benchmark.runner import benchmark
from sidrec.reports.build import build_report
from sidrec.sids.tokenize import TokenizeSettings, tokenize
from sidrec.sids.tokenized_items import TokenizedItems
from sidrec.training.loop import train
from sidrec.training.options import TrainingOptions

IDS = {"tokenizer": "rq-kmeans", "options": {"n_codes": 2, "codebook_size": 8, "pca": 4}}
VAE = {"tokenizer": "multi-head-vqvae", "options": {"n_codes": 2, "codebook_size": 8, "training": {"epochs": 1}}}
SHORT = {"epochs": 1, "metric": None}
TINY = {"d_model": 8, "n_heads": 2, "n_layers": 1, "max_history": 4, "training": SHORT}
PLUS = {"d_model": 8, "n_layers": 1, "max_history": 4, "training": SHORT, "embedding": {"encoder": "tfidf"}}
TRAINED = TrainingOptions(epochs=2, batch_size=16, checkpoint_seconds=0)
LATE = pl.DataFrame({"item_id": ["late"], "title": ["a late lamp"]})

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # huge numbers may overflow, that is all
]


def use_embeddings(path: Path) -> None:
    embed_new(LATE, ItemEmbeddings.load(path))


def use_ids(path: Path) -> None:
    ids = TokenizedItems.load(path)
    if ids.space is not None:
        ids.with_new_items(embed_new(LATE, ids.space), ["late"])


def use_model(path: Path) -> None:
    model = load_model(path)
    first = model.catalog.item_ids.to_list()[:2]
    if isinstance(model, AddsItems):
        model.add_items(LATE)
    model.recommend([first, ["late"]], k=3)


def use_checkpoint(path: Path) -> None:
    train(Net(), Task(), TRAINED.model_copy(update={"epochs": 3}), workdir=path)


def use_graphs(path: Path) -> None:
    model = load_model(path.parent.parent / "llada-rec")
    assert isinstance(model, LLaDARec)
    model.with_engine("onnx", path).recommend([model.catalog.item_ids.to_list()[:2]], k=3)


def use_benchmark(path: Path) -> None:
    build_report([path], path.with_name("report"), n_examples=1)


USES: dict[str, Callable[[Path], object]] = {
    "dataset": Dataset.load,
    "embeddings": use_embeddings,
    "sids": use_ids,
    "vae-sids": use_ids,
    "popularity": use_model,
    "sasrec-ce": use_model,
    "llada-rec": use_model,
    "llada-rec-plus": use_model,
    "evaluation": Evaluation.load,
    "checkpoint": use_checkpoint,
}
LONG: dict[str, Callable[[Path], object]] = {"graphs": use_graphs, "benchmark": use_benchmark}
N_CHANGES = 40


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("artifacts")
    data = Dataset.load(demo_shop(n_items=40, n_users=30).save(folder / "dataset"))
    settings = EmbeddingSettings(encoder="tfidf", pca=8)
    embeddings = embed_catalog(data.catalog, settings, out=folder / "embeddings")
    tokenize(embeddings, TokenizeSettings(**IDS), out=folder / "sids")
    tokenize(embeddings, TokenizeSettings(**VAE), out=folder / "vae-sids")
    popular = Popularity().fit(data)
    popular.save(folder / "popularity")
    sasrec, plus = (find_model(key).load_class() for key in ("sasrec-ce", "llada-rec-plus"))
    sasrec(d_model=8, n_layers=1, training=SHORT).fit(data).save(folder / "sasrec-ce")
    plus(**PLUS, tokenize=IDS).fit(data).save(folder / "llada-rec-plus")
    LLaDARec(**TINY, embedding={"encoder": "tfidf"}, tokenize=IDS).fit(data).save(folder / "llada-rec")
    evaluate(popular, data).save(folder / "evaluation")
    train(Net(), Task(), TRAINED, workdir=folder / "checkpoint")
    return folder


def problems(artifact: Path, out: Path, use: Callable[[Path], object], seeds: Iterable[int]) -> list[str]:
    found = []
    for seed in seeds:
        change = mutated(artifact, out, seed)
        try:
            use(out)
        except SettingsError:  # a line for every setting that is wrong
            pass
        except SidrecError as error:
            if "\n" in str(error):
                found.append(f"{seed} {change}: more than one sentence: {error}")
        except BaseException as error:
            found.append(f"{seed} {change}: {type(error).__name__}: {str(error)[:160]}")
    return found


@pytest.mark.parametrize("kind", USES)
def test_a_changed_artefact_is_used_or_refused_in_words(artifacts, tmp_path, kind):
    assert problems(artifacts / kind, tmp_path / "copy", USES[kind], range(N_CHANGES)) == []


@pytest.mark.parametrize("kind", LONG)
def test_changed_graphs_and_benchmarks(artifacts, tmp_path, kind):
    if kind == "graphs":
        model = load_model(artifacts / "llada-rec")
        assert isinstance(model, LLaDARec)
        model.export(artifacts / kind)
    else:
        benchmark(small_plan(small_shop(tmp_path), failing=False), artifacts / kind)
    changed = artifacts / "changed" / kind
    assert problems(artifacts / kind, changed, LONG[kind], range(N_CHANGES)) == []


HUGE = ("d_model", "n_layers", "max_history", "d_ff")


@pytest.mark.parametrize("value", [10**6, 10**30])
@pytest.mark.parametrize("kind", ["sasrec-ce", "llada-rec", "llada-rec-plus"])
def test_huge_settings_are_refused_before_anything_is_built(artifacts, tmp_path, kind, value):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name in HUGE:
        path = tmp_path / name
        shutil.copytree(artifacts / kind, path)
        settings = json.loads((path / "model.json").read_text())
        if name in settings:
            (path / "model.json").write_text(json.dumps({**settings, name: value}))
            reseal(path)
            with pytest.raises((ArtifactError, SettingsError)):
                load_model(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
