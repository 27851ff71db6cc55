"""Names become classes through one literal table; a row is a key, where the class is, and what makes it itself."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sidrec.core.artifacts import Artifact, opened
from sidrec.core.errors import ArtifactError, SettingsError
from sidrec.core.settings import Settings, merge
from sidrec.models.base import Recommender


@dataclass(frozen=True)
class ModelRow:
    """One row of the table."""

    key: str
    module: str
    name: str
    family: Literal["floor", "item-id", "semantic-id"]
    summary: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Settings that make this row what it is; the user's are laid over them, then the class's defaults hold."""

    def load_class(self) -> type[Recommender]:
        found: type[Recommender] = getattr(importlib.import_module(self.module), self.name)
        return found

    def make(self, **values: Any) -> Recommender:
        """The model, not fitted; settings as the class's own constructor takes them."""
        return self.load_class()(key=self.key, **self._over_defaults(values))

    def build(self, values: Mapping[str, Any], *, where: str, section: str = "") -> Recommender:
        """The same from the plain values of a recipe."""
        return self.load_class()(self.settings(values, where=where, section=section), key=self.key)

    def settings(self, values: Mapping[str, Any], *, where: str, section: str = "") -> Settings:
        """Wrong settings are reported all at once, with `where` they were read."""
        kind = self.load_class().settings_class
        return kind.parse(self._over_defaults(values), owner=self.key, where=where, section=section)

    def _over_defaults(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Options of the row's tokenizer mean nothing to another one, so they go when another is chosen."""
        own, chosen = self.defaults.get("tokenize", {}), values.get("tokenize", {})
        if isinstance(chosen, Mapping) and chosen.get("tokenizer", own.get("tokenizer")) != own.get("tokenizer"):
            own = {name: value for name, value in own.items() if name != "options"}
        return merge({**self.defaults, "tokenize": own} if own else self.defaults, values)


MODELS: tuple[ModelRow, ...] = (
    ModelRow(
        "popularity", "sidrec.models.popularity", "Popularity", "floor", "most frequent items of the training part"
    ),
    ModelRow("gru4rec", "sidrec.models.gru4rec", "GRU4Rec", "item-id", "GRU over the history"),
    ModelRow("sasrec", "sidrec.models.sasrec", "SASRec", "item-id", "causal Transformer, binary loss as published"),
    ModelRow(
        "sasrec-ce",
        "sidrec.models.sasrec",
        "SASRec",
        "item-id",
        "causal Transformer, full softmax",
        {"loss": "cross-entropy"},
    ),
    ModelRow("bert4rec", "sidrec.models.bert4rec", "BERT4Rec", "item-id", "bidirectional Transformer, cloze task"),
    ModelRow("fmlp-rec", "sidrec.models.fmlprec", "FMLPRec", "item-id", "learnable frequency filters, no attention"),
    ModelRow("lrurec", "sidrec.models.lrurec", "LRURec", "item-id", "linear recurrent units with a parallel scan"),
    ModelRow("dreamrec", "sidrec.models.dreamrec", "DreamRec", "item-id", "guided diffusion of the next item's vector"),
    ModelRow("diffurec", "sidrec.models.diffurec", "DiffuRec", "item-id", "diffusion with a Transformer approximator"),
    ModelRow(
        "llada-rec",
        "sidrec.models.llada_rec.recommender",
        "LLaDARec",
        "semantic-id",
        "masked discrete diffusion of IDs",
    ),
    ModelRow(
        "llada-rec-plus",
        "sidrec.models.llada_rec_plus.recommender",
        "LLaDARecPlus",
        "semantic-id",
        "catalogue-exact masked diffusion: identity, codes and text in one vector",
    ),
)


class Rows(tuple[ModelRow, ...]):
    """Rows that print as a table."""

    def __repr__(self) -> str:
        keys, families = (max(len(getattr(row, name)) for row in self) for name in ("key", "family"))
        return "\n".join(f"{row.key:<{keys}}  {row.family:<{families}}  {row.summary}" for row in self)


def models() -> Rows:
    """Every model there is: its key, its family and what it is."""
    return Rows(MODELS)


def find_model(key: str) -> ModelRow:
    """The row of a key; an unknown key is an error with the nearest name."""
    for row in MODELS:
        if row.key == key:
            return row
    names = [row.key for row in MODELS]
    near = difflib.get_close_matches(key, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known models: {', '.join(names)}."
    raise SettingsError(f"{key!r} is not a model; {hint}")


def load_model(path: Path) -> Recommender:
    """A saved model of any kind."""
    with opened(Path(path), "model") as artifact:
        return model_from(artifact)


def model_from(artifact: Artifact) -> Recommender:
    """The same from an open artefact."""
    try:
        row = find_model(str(artifact.settings["model"]))
    except (KeyError, SettingsError):
        raise ArtifactError(f"{artifact.path}: was saved by a model this version does not know.") from None
    return row.load_class().from_artifact(artifact)
