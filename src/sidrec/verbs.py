"""The verbs of the command line as functions: an object or the directory it was saved in, settings by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidrec.core.errors import InputError, SettingsError
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.replacing import replacing
from sidrec.core.stages import Stages
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.embeddings.embed import EmbeddingSettings, embed_catalog
from sidrec.embeddings.encoders import GIVEN
from sidrec.embeddings.given_vectors import GivenVectors
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.evaluation import evaluate as judging
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.evaluation.results import Evaluation
from sidrec.models.base import Recommender
from sidrec.models.ingredients import Data, in_memory, inside, is_saved, model_named, vectors_of
from sidrec.models.registry import find_model, load_model
from sidrec.sids.tokenize import TokenizeSettings
from sidrec.sids.tokenize import tokenize as give_ids
from sidrec.sids.tokenized_items import TokenizedItems

if TYPE_CHECKING:
    from sidrec.pipeline.benchmark.runner import BenchmarkResult
    from sidrec.reports.build import Report

Where = Path | str
"""A directory that a verb wrote."""


def load(path: Where) -> Recommender:
    """A saved model of any kind."""
    return load_model(Path(path))


def model(key: str, **settings: Any) -> Recommender:
    """A model by its key, not fitted: `model("sasrec-ce", d_model=64)`; `models()` lists the keys."""
    return find_model(key).make(**settings)


def embed(
    items: Dataset | Catalog | Where,
    *,
    from_model: Recommender | Where | None = None,
    out: Where | None = None,
    replace: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> ItemEmbeddings:
    """One vector per item, from its text, from your own `vectors` file or from a model.

    The model is a trained one, its directory, or the key of one that is trained for it. What stands at `out` and is
    something else is replaced only with `replace`, here and in the other verbs.
    Further settings are those of `EmbeddingSettings`: `encoder="tfidf"`, `pca=128`, `fields=["title"]`, ...
    """
    if from_model is not None and ("encoder" in settings or "vectors" in settings):
        words = "from_model comes instead of encoder and vectors; give only one of them."
        raise SettingsError(words, arguments=("from_model", "encoder", "vectors"))
    if isinstance(from_model, str):
        settings["from_model"] = from_model
    elif from_model is not None:
        settings["encoder"] = GIVEN
    chosen = EmbeddingSettings.parse(settings, owner="embed", where="embed")
    given: GivenVectors | None = None
    if chosen.from_model is not None:
        given = _trained_vectors(items, chosen, progress)
    elif from_model is not None:
        given = vectors_of(from_model if isinstance(from_model, Recommender) else load(from_model))
    with replacing(replace):
        return embed_catalog(_catalog(items), chosen, progress, None if out is None else Path(out), given)


def _trained_vectors(
    items: Dataset | Catalog | Where, chosen: EmbeddingSettings, progress: Progress | None
) -> GivenVectors:
    """Those of a saved model, or of one that is trained on this data for it."""
    assert chosen.from_model is not None
    saved = is_saved(chosen.from_model)
    if isinstance(items, Catalog) and not saved:
        raise InputError("a model is trained on a dataset, and only its items are given; give the dataset.")
    data = Data("none") if saved or isinstance(items, Catalog) else in_memory(_whole(items))
    model = model_named(data, chosen.from_model, chosen.model_settings)
    return vectors_of(Stages(inside(None), progress or SilentProgress()).get(model))


def tokenize(
    embeddings: ItemEmbeddings | Where,
    *,
    tokenizer: str = "multi-head-vqvae",
    collisions: str = "unique",
    collaborative: ItemEmbeddings | Where | None = None,
    titles: Sequence[str] | None = None,
    out: Where | None = None,
    replace: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> TokenizedItems:
    """A semantic ID for every item.

    Further options are the tokenizer's own: `n_codes=4`, `codebook_size=256`, `seed=0`, ... With `inputs="both"` IDs
    speak of the text and of the `collaborative` vectors of a trained model. `titles` are shown in the health report
    that is kept with `out`.
    """
    values = {"tokenizer": tokenizer, "collisions": collisions, "options": options}
    settings = TokenizeSettings.parse(values, owner="tokenize", where="tokenize")
    others = None if collaborative is None else _embeddings(collaborative)
    with replacing(replace):
        return give_ids(_embeddings(embeddings), settings, progress, None if out is None else Path(out), titles, others)


def evaluate(
    model: Recommender | Where,
    data: Dataset | Where | None = None,
    *,
    out: Where | None = None,
    replace: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> Evaluation:
    """Rank the held-out item of every user among the whole catalogue.

    Without `data` it is what the model was trained on, as far as that lies in a directory. Further settings are those
    of `EvaluationSettings`: `split="validation"`, `ks=(10, 20)`, `exclude_seen=True`, `users=1000`, ... With `out` the
    ranks are kept; those of a saved model are found there again, and a judgement that was cut off goes on.
    """
    chosen = EvaluationSettings.parse(settings, owner="evaluate", where="evaluate")
    dataset = _dataset(model, data)
    if not isinstance(model, Recommender) and out is not None:
        with replacing(replace):
            return judging.evaluate_saved(Path(model), dataset, Path(out), chosen, progress)
    loaded = model if isinstance(model, Recommender) else load(model)
    judging.check_same_data(loaded, dataset, name="this model" if loaded is model else str(model))
    found = judging.evaluate(loaded, dataset, chosen, progress=progress)
    if out is not None:
        found.save(Path(out), replace=replace)
    return found


def benchmark(
    plan: Where,
    out: Where,
    *,
    data: Mapping[str, Where] | None = None,
    sections: Sequence[str] | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> BenchmarkResult:
    """Run a plan file: models, data sets and seeds under one budget; finished cells in `out` are kept.

    `data` says where the plan's data sets lie, `sections` picks some of its sections, and changes replace values of
    the plan: `scale="small"`, `seeds=[0, 1]`, `budget={"epochs": 5}`, `processes=2`.
    """
    from sidrec.pipeline.benchmark.plan import only_sections, read_plan
    from sidrec.pipeline.benchmark.runner import benchmark as run

    chosen = read_plan(Path(plan), changes, {name: str(place) for name, place in (data or {}).items()})
    return run(only_sections(chosen, sections) if sections else chosen, Path(out), progress=progress)


def report(runs: Where | Sequence[Where], out: Where, *, examples: int = 3, progress: Progress | None = None) -> Report:
    """One page, Markdown and CSV files about one or more benchmarks, with so many users as examples."""
    from sidrec.reports.build import build_report

    paths = [runs] if isinstance(runs, Path | str) else runs
    return build_report([Path(path) for path in paths], Path(out), progress, n_examples=examples)


def _dataset(model: Recommender | Where, data: Dataset | Where | None) -> Dataset:
    if isinstance(data, Dataset):
        return data
    if data is not None:
        return Dataset.load(Path(data))
    if not isinstance(model, Recommender):
        return Dataset.load(judging.training_data(Path(model)))
    if model.data_path is None:
        raise InputError(
            f"this {model.key} was trained on data in memory; give the data as well: evaluate(model, data)."
        )
    return Dataset.load(model.data_path)


def _embeddings(vectors: ItemEmbeddings | Where) -> ItemEmbeddings:
    return vectors if isinstance(vectors, ItemEmbeddings) else ItemEmbeddings.load(Path(vectors))


def _catalog(items: Dataset | Catalog | Where) -> Catalog:
    if isinstance(items, Catalog):
        return items
    return _whole(items).catalog


def _whole(items: Dataset | Where) -> Dataset:
    return items if isinstance(items, Dataset) else Dataset.load(Path(items))
