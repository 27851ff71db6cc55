"""The training stage: a dataset (and semantic IDs) in, a model artefact out; killed runs go on where they stopped."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sidrec.core.artifacts import tidy
from sidrec.core.errors import ArtifactError, SettingsError
from sidrec.core.locks import locked
from sidrec.core.progress import Progress, SilentProgress
from sidrec.data.dataset import Dataset
from sidrec.models.base import Recommender
from sidrec.models.capabilities import HasSemanticIds, Searches
from sidrec.models.model_files import take_up
from sidrec.models.registry import load_model
from sidrec.models.standing import Standing
from sidrec.pipeline.recipes import Recipe, Successor
from sidrec.training.distributed import leads

Continue = Literal["auto", "resume", "restart"]


@dataclass(frozen=True)
class Trained:
    """The fitted model, and whether it was already there."""

    model: Recommender
    skipped: bool


def train(
    data: Path,
    out: Path,
    recipe: Recipe | Successor,
    *,
    sids: Path | None = None,
    ingredients: Path | None = None,
    unfinished: Continue = "auto",
    adopt_search: bool = False,
    progress: Progress | None = None,
) -> Trained:
    """Fit the recipe's model on a prepared dataset; `unfinished` says what happens to a run that was cut off.

    A finished model that is given more epochs or minutes goes on; with `adopt_search` it takes the recipe's search.
    A successor begins with the weights of the model it names, whose items keep their semantic IDs.
    Vectors and IDs that are made on the way are kept in the folder `ingredients`, or go with the work.
    """
    progress = progress or SilentProgress()
    dataset = Dataset.load(data)
    if isinstance(recipe, Successor) and recipe.path.resolve() == Path(out).resolve():
        before = load_model(out)
        if before.trained_on == dataset.fingerprint:
            progress.note(f"{out}: was trained on this data already, so there is nothing to go on with.")
            return Trained(before, skipped=True)
    model = recipe.build()
    model.ingredients = ingredients
    if sids is not None:
        if not isinstance(model, HasSemanticIds):
            raise SettingsError(f"{model.key} has no semantic IDs; leave them out.", arguments=("sids",))
        model.use_semantic_ids(sids, dataset)

    model.settle(dataset, progress)
    with ExitStack() as stack:
        found = model.standing(out, dataset.fingerprint)
        if leads() and not found.done:
            stack.enter_context(locked(out))
            found = model.standing(out, dataset.fingerprint)  # somebody may have trained it while we waited
        if found.done:
            if leads():
                tidy(out, model.origin(dataset.fingerprint))
            with suppress(ArtifactError):  # a damaged model is trained again
                return Trained(_already_trained(out, model, progress, adopt_search), skipped=True)
        _prepare(found, out, model.training_directory(out, dataset.fingerprint), unfinished, progress)
        model.fit(dataset, out=out, progress=progress, restart=unfinished == "restart")
    return Trained(model, skipped=False)


def _prepare(found: Standing, out: Path, workdir: Path, unfinished: Continue, progress: Progress) -> None:
    """Say what becomes of what is there; what is to be resumed must be there."""
    if found.why_not:
        progress.note(f"{out}: holds this model, but {found.why_not}; training begins anew.")
    if unfinished == "resume" and leads() and not (found.goes_on or take_up(workdir, at_any_rate=True)):
        words = "no cut-off training with these settings on this data; begin one without resuming."
        raise ArtifactError(f"{out}: {words}", arguments=("resume",))


def _already_trained(out: Path, wanted: Recommender, progress: Progress, adopt_search: bool) -> Recommender:
    """The model at `out`; where only its search is wanted otherwise, that is changed without training."""
    model = load_model(out)
    if adopt_search and isinstance(model, Searches) and isinstance(wanted, Searches) and model.search != wanted.search:
        if leads():
            with locked(out):  # from before it is read: items may be changed meanwhile
                kept = load_model(out)
                assert isinstance(kept, Searches)
                kept.with_search(wanted.search).save(out)
        model = load_model(out)
        progress.note(f"{out}: already trained on this data; only its search settings were changed.")
    else:
        progress.note(f"{out}: already trained with these settings on this data; nothing to do.")
    return model


def check_one_way(resume: bool, restart: bool) -> Continue:
    """The two flags as one choice."""
    if resume and restart:
        words = "resuming goes on with a cut-off run and restarting throws it away; choose one of them."
        raise SettingsError(words, arguments=("resume", "restart"))
    return "resume" if resume else "restart" if restart else "auto"
