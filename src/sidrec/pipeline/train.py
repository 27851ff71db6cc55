"""The training stage: a dataset (and semantic IDs) in, a model artefact out; killed runs go on where they stopped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sidrec.core.artifacts import Artifact, ensure, forget_work
from sidrec.core.errors import ArtifactError, SettingsError
from sidrec.core.progress import Progress, SilentProgress
from sidrec.data.dataset import Dataset
from sidrec.models.base import Recommender
from sidrec.models.capabilities import HasSemanticIds
from sidrec.models.model_files import leads, take_up
from sidrec.models.registry import model_from
from sidrec.pipeline.recipes import Recipe

Continue = Literal["auto", "resume", "restart"]


@dataclass(frozen=True)
class Trained:
    """The fitted model, and whether it was already there."""

    model: Recommender
    skipped: bool


def train(
    data: Path,
    out: Path,
    recipe: Recipe,
    *,
    sids: Path | None = None,
    unfinished: Continue = "auto",
    progress: Progress | None = None,
) -> Trained:
    """Fit the recipe's model on a prepared dataset; `unfinished` says what happens to a run that was cut off."""
    progress = progress or SilentProgress()
    dataset = Dataset.load(data)
    model = recipe.build()
    if sids is not None:
        if not isinstance(model, HasSemanticIds):
            raise SettingsError(f"{model.key} has no semantic IDs; leave them out.", arguments=("sids",))
        model.use_semantic_ids(sids, dataset)
    origin = model.origin(dataset.fingerprint)

    def fit() -> Trained:
        if unfinished == "restart" and leads():
            forget_work(out)
        if unfinished == "resume" and leads() and not take_up(out, origin):
            words = "no cut-off training with these settings on this data; begin one without resuming."
            raise ArtifactError(f"{out}: {words}", arguments=("resume",))
        return Trained(model.fit(dataset, out=out, progress=progress), skipped=False)

    def found(artifact: Artifact) -> Trained:
        return Trained(model_from(artifact), skipped=True)

    return ensure(out, origin, fit, found, progress, alone=leads())


def check_one_way(resume: bool, restart: bool) -> Continue:
    """The two flags as one choice."""
    if resume and restart:
        words = "resuming goes on with a cut-off run and restarting throws it away; choose one of them."
        raise SettingsError(words, arguments=("resume", "restart"))
    return "resume" if resume else "restart" if restart else "auto"
