"""What lies at a model's place already: the same model, one that can be gone on with, or something else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from sidrec.core.artifacts import Artifact, Origin, open_artifact
from sidrec.core.errors import ArtifactError, SettingsError
from sidrec.core.replacing import GivesWay, may_replace, occupied
from sidrec.core.settings import LENGTH, Mark, Settings
from sidrec.models.model_files import read_settings
from sidrec.training import checkpoints
from sidrec.training.options import TrainingOptions

CATALOG = "catalog"
"""Names in an origin what happened to the items since the training."""


@dataclass(frozen=True)
class Standing:
    """A place, seen by a model that is to be trained there."""

    artifact: Artifact | None = None
    same: bool = False
    """It holds this model: same method, data and seed, whatever the settings of the run and the search, and whatever
    became of its items since."""
    goes_on: bool = False
    """It holds this model after fewer epochs or minutes, with everything that going on needs."""
    why_not: str = ""
    """Why a model of the same line cannot be gone on with; empty where there is nothing to say."""

    @property
    def done(self) -> bool:
        """Nothing is left to train."""
        return self.same and not self.goes_on


def standing(out: Path, wanted: Origin, line: Origin, settings: Settings, options: TrainingOptions | None) -> Standing:
    """What `out` is to a model of this origin; `line` is the origin without the length of the training."""
    try:
        artifact = open_artifact(out, wanted.kind, verify=False)
        same = _but_stock(_origin(artifact, type(settings))).fingerprint == wanted.fingerprint
        related = _but_stock(_origin(artifact, type(settings), LENGTH)).fingerprint == line.fingerprint
    except (ArtifactError, SettingsError, KeyError):
        return Standing()
    if options is None or not related:
        return Standing(artifact, same)
    state = checkpoints.standing(artifact.path)
    goes_on = state is not None and state.goes_on(options)
    return Standing(artifact, same, goes_on, "" if same or goes_on else _why_not(state, options))


def gives_way(line: Origin, settings: Settings) -> GivesWay:
    """Whether a saved model is a state of the one of this line: shorter, longer, or with other items in stock."""

    def is_earlier(artifact: Artifact) -> bool:
        try:
            found = _origin(artifact, type(settings), LENGTH)
        except (ArtifactError, SettingsError, KeyError):
            return False
        return _but_stock(found).fingerprint == _but_stock(line).fingerprint

    return is_earlier


class SeenStates:
    """In which state a model was read or written where: another one's changes to the items there must not be lost."""

    def __init__(self) -> None:
        self._content: dict[Path, str] = {}

    def remember(self, artifact: Artifact) -> None:
        self._content[artifact.path.resolve()] = artifact.content

    def guarding(self, gives_way: GivesWay) -> GivesWay:
        """The same, but for a model whose items were changed by somebody else."""

        def is_ours(found: Artifact) -> bool:
            if not gives_way(found):
                return False
            if CATALOG in found.made_from and found.content != self._content.get(found.path.resolve()):
                raise occupied(found.path, "holds a model whose items were changed, and this one does not know how")
            return True

        return is_ours


def refuse_changed_items(out: Path) -> None:
    """Training makes a model of the data's items, and what was added, removed or changed since would be lost."""
    try:
        changed = CATALOG in open_artifact(out, "model", verify=False).made_from
    except ArtifactError:
        return
    if changed and not may_replace():
        raise occupied(Path(out), "holds a model whose items were changed after it was trained")


def _but_stock(origin: Origin) -> Origin:
    return replace(origin, made_from={name: of for name, of in origin.made_from.items() if name != CATALOG})


def _why_not(state: checkpoints.RunState | None, options: TrainingOptions) -> str:
    if state is None:
        return "its training state was not kept"
    if state.finished == "patience":
        return f"it stopped early, after {state.epoch} epochs, because nothing improved"
    if state.epoch >= options.epochs:
        return f"it has had {state.epoch} epochs already"
    return f"it has used up its {options.minutes:g} minutes"


def _origin(artifact: Artifact, kind: type[Settings], *without: Mark) -> Origin:
    """The origin of a saved model by today's definitions, so that those of earlier versions are recognised."""
    plain = {"model": artifact.settings["model"], "settings": read_settings(kind, artifact).method_values(*without)}
    return Origin(artifact.kind, plain, artifact.made_from, artifact.manifest["seed"])
