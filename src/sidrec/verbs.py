"""The verbs of the command line as functions: an object or the directory it was saved in, settings by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidrec.core.errors import InputError, SettingsError
from sidrec.core.given_paths import as_path
from sidrec.core.mirroring import local
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.replacing import replacing
from sidrec.core.stages import Stages
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.embeddings.embed import Elsewhere, embed_catalog
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.encoders import GIVEN
from sidrec.embeddings.given_vectors import GivenVectors, as_given
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.evaluation import evaluate as judging
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.evaluation.results import Evaluation
from sidrec.evaluation.view import View
from sidrec.models.base import Recommender
from sidrec.models.ingredients import Data, in_memory, inside, is_saved, model_named, vectors_of
from sidrec.models.registry import find_model, load_model
from sidrec.sids.tokenize import TokenizeSettings
from sidrec.sids.tokenize import tokenize as give_ids
from sidrec.sids.tokenized_items import TokenizedItems

if TYPE_CHECKING:
    from sidrec.pipeline.benchmark.runner import BenchmarkResult
    from sidrec.pipeline.tuning.tune import Tuned
    from sidrec.reports.build import Report

Where = Path | str
"""A directory that a verb wrote, by its path or URI."""


def load(path: Where) -> Recommender:
    """A saved model of any kind."""
    return load_model(as_path(path, "the saved model"))


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
    elsewhere: Elsewhere | None = None,
    **settings: Any,
) -> ItemEmbeddings:
    """One vector per item, from its text, from your own `vectors` (a file, an array, a data frame) or from a model.

    The model is a trained one, its directory, or the key of one that is trained for it. What stands at `out` and is
    something else is replaced only with `replace`, here and in the other verbs.
    Further settings are those of `EmbeddingSettings`: `encoder="tfidf"`, `pca=128`, `fields=["title"]`, ... Texts are
    encoded here, or `elsewhere`: `sidrec.cluster.batch.Actors(4).encode` does it on Ray.
    """
    if from_model is not None and ("encoder" in settings or "vectors" in settings):
        words = "from_model comes instead of encoder and vectors; give only one of them."
        raise SettingsError(words, arguments=("from_model", "encoder", "vectors"))
    if isinstance(from_model, str):
        settings["from_model"] = from_model
    elif from_model is not None:
        settings["encoder"] = GIVEN
    given: GivenVectors | None = None
    if not isinstance(settings.get("vectors"), Path | str | None):
        given = as_given(settings.pop("vectors"))
        settings["encoder"] = GIVEN
    chosen = EmbeddingSettings.parse(settings, owner="embed", where="embed")
    if chosen.from_model is not None:
        given = _trained_vectors(items, chosen, progress)
    elif from_model is not None:
        given = vectors_of(from_model if isinstance(from_model, Recommender) else load(from_model))
    with replacing(replace):
        return embed_catalog(_catalog(items), chosen, progress, None if out is None else local(out), given, elsewhere)


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
        return give_ids(
            _embeddings(embeddings), settings, progress, None if out is None else local(out), titles, others
        )


def evaluate(
    model: Recommender | Where,
    data: Dataset | Where | None = None,
    *,
    out: Where | None = None,
    replace: bool = False,
    progress: Progress | None = None,
    trained_on: Dataset | Where | None = None,
    **settings: Any,
) -> Evaluation:
    """Rank the held-out item of every user among the whole catalogue.

    A model may be judged on other data than its own, last week's model on this week's: items it does not know count as
    misses, and users whose held-out item it was trained on are left out. For that the data it was trained on are
    looked for where they were, or given as `trained_on`.

    Without `data` it is what the model was trained on, as far as that lies in a directory. Further settings are those
    of `EvaluationSettings`: `split="validation"`, `ks=(10, 20)`, `exclude_seen=True`, `users=1000`, ... With `out` the
    ranks are kept; those of a saved model are found there again, and a judgement that was cut off goes on.
    """
    chosen = EvaluationSettings.parse(settings, owner="evaluate", where="evaluate")
    dataset, before = _dataset(model, data), None if trained_on is None else _whole(trained_on)
    if not isinstance(model, Recommender) and out is not None:
        with replacing(replace):
            place = as_path(model, "the saved model")
            return judging.evaluate_saved(place, dataset, local(out), chosen, progress, before)
    loaded = model if isinstance(model, Recommender) else load(model)
    view = View.of(loaded, dataset, "this model" if loaded is model else str(model), before)
    found = judging.evaluate(loaded, dataset, chosen, progress=progress, view=view)
    if out is not None:
        found.save(local(out), replace=replace)
    return found


def benchmark(
    plan: Where,
    out: Where,
    *,
    data: Mapping[str, Where] | None = None,
    sections: Sequence[str] | None = None,
    on: str | None = None,
    address: str | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> BenchmarkResult:
    """Run a plan file: models, data sets and seeds under one budget; finished cells in `out` are kept.

    `data` says where the plan's data sets lie, `sections` picks some of its sections, and changes replace values of
    the plan: `scale="small"`, `seeds=[0, 1]`, `budget={"epochs": 5}`, `processes=2`. With `on="ray"` a cluster does the
    work: the one at `address`, or Ray on this machine.
    """
    from sidrec.cluster.session import wants_ray
    from sidrec.pipeline.benchmark.plan import only_sections, read_plan
    from sidrec.pipeline.benchmark.runner import benchmark as run

    chosen = read_plan(as_path(plan, "the plan"), changes, {name: str(place) for name, place in (data or {}).items()})
    engage = None
    if wants_ray(on, address):
        from sidrec.cluster.experiments import on_ray

        engage = on_ray(address, at_most=changes.get("processes"))
    return run(only_sections(chosen, sections) if sections else chosen, Path(out), progress=progress, engage=engage)


def tune(
    data: Where,
    out: Where,
    *,
    model: str | None = None,
    recipe: str | None = None,
    settings: Sequence[str] = (),
    trials: int = 20,
    vary: Sequence[str] = (),
    seed: int = 0,
    on: str | None = None,
    address: str | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Search for better settings of a model on the validation part, until `out` holds so many trials.

    What is tried stands beside each model's settings, or is said by `vary=["d_model=[32,64]"]`; `settings` such as
    `["training.epochs=10"]` hold for all trials. `out` then has a page, a table and the best settings as a recipe.
    With `on="ray"` the trials run on a cluster, at most so many `processes` at a time.
    """
    from sidrec.cluster.session import wants_ray
    from sidrec.pipeline.recipes import read_recipe
    from sidrec.pipeline.tuning.tune import tune as run
    from sidrec.reports.tuning_page import write_tuning

    engage = None
    if wants_ray(on, address):
        from sidrec.cluster.tuning import on_ray

        engage = on_ray(address, at_most=processes)
    elif processes is not None:
        words = "trials run side by side on ray; here, start the same command again in another terminal."
        raise SettingsError(f"processes: {words}", arguments=("processes", "on"))
    place, chosen = as_path(data, "the dataset"), read_recipe(recipe, model, settings)
    found = run(place, Path(out), chosen, trials=trials, vary=vary, seed=seed, progress=progress, engage=engage)
    write_tuning(found)
    return found


def report(runs: Where | Sequence[Where], out: Where, *, examples: int = 3, progress: Progress | None = None) -> Report:
    """One page, Markdown and CSV files about one or more benchmarks, with so many users as examples."""
    from sidrec.reports.build import build_report

    several = runs if isinstance(runs, list | tuple) else [runs]
    paths = [as_path(path, "the benchmark") for path in several]
    return build_report(paths, Path(out), progress, n_examples=examples)


def _dataset(model: Recommender | Where, data: Dataset | Where | None) -> Dataset:
    if isinstance(data, Dataset):
        return data
    if data is not None:
        return Dataset.load(as_path(data, "the dataset"))
    if not isinstance(model, Recommender):
        return Dataset.load(judging.training_data(as_path(model, "the saved model")))
    if model.data_path is None:
        raise InputError(
            f"this {model.key} was trained on data in memory; give the data as well: evaluate(model, data)."
        )
    return Dataset.load(model.data_path)


def _embeddings(vectors: ItemEmbeddings | Where) -> ItemEmbeddings:
    return vectors if isinstance(vectors, ItemEmbeddings) else ItemEmbeddings.load(as_path(vectors, "the embeddings"))


def _catalog(items: Dataset | Catalog | Where) -> Catalog:
    if isinstance(items, Catalog):
        return items
    return _whole(items).catalog


def _whole(items: Dataset | Where) -> Dataset:
    return items if isinstance(items, Dataset) else Dataset.load(as_path(items, "the dataset"))
