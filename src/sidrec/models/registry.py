"""Names become classes through one literal table; a row is a key, where the class is, and what makes it itself."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from sidrec.core.artifacts import Artifact, opened
from sidrec.core.errors import ArtifactError, SettingsError
from sidrec.core.registry import Registry, first_line
from sidrec.core.settings import Settings
from sidrec.models.base import Recommender
from sidrec.models.capabilities import HasSemanticIds
from sidrec.sids.base import Tokenizer
from sidrec.sids.registry import REGISTRY as TOKENIZER_REGISTRY
from sidrec.sids.registry import row_of as tokenizer_row
from sidrec.sids.tokenize import laid_over

Family = Literal["floor", "item-id", "semantic-id"]


@dataclass(frozen=True)
class ModelRow:
    """One row of the table."""

    key: str
    module: str
    name: str
    family: Family
    summary: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Settings that make this row what it is; the user's are laid over them, then the class's defaults hold."""

    own_class: type[Recommender] | None = None
    """The class itself, where it was registered and need not be found."""

    @property
    def place(self) -> tuple[str, str]:
        return self.module, self.name

    def load_class(self) -> type[Recommender]:
        if self.own_class is not None:
            return self.own_class
        found: type[Recommender] = getattr(importlib.import_module(self.module), self.name)
        return found

    def make(self, **values: Any) -> Recommender:
        """The model, not fitted; settings as the class's own constructor takes them."""
        return self.load_class()(key=self.key, **laid_over(self.defaults, values))

    def build(self, values: Mapping[str, Any], *, where: str, section: str = "") -> Recommender:
        """The same from the plain values of a recipe."""
        return self.load_class()(self.settings(values, where=where, section=section), key=self.key)

    def settings(self, values: Mapping[str, Any], *, where: str, section: str = "") -> Settings:
        """Wrong settings are reported all at once, with `where` they were read."""
        kind = self.load_class().settings_class
        return kind.parse(laid_over(self.defaults, values), owner=self.key, where=where, section=section)


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
    ModelRow("vq-rec", "sidrec.models.vqrec", "VQRec", "semantic-id", "pooled embeddings of many OPQ codes"),
    ModelRow("rpg", "sidrec.models.rpg", "RPG", "semantic-id", "long IDs whose codes are all predicted at once"),
    ModelRow(
        "tiger", "sidrec.models.tiger.recommender", "TIGER", "semantic-id", "T5 that writes residual codes of text"
    ),
    ModelRow(
        "tiger-sas",
        "sidrec.models.tiger.recommender",
        "TIGER",
        "semantic-id",
        "TIGER with codes of a trained SASRec's item vectors",
        {"embedding": {"from_model": "sasrec-ce"}},
    ),
    ModelRow(
        "letter",
        "sidrec.models.tiger.recommender",
        "TIGER",
        "semantic-id",
        "TIGER with codes of text, behaviour and diversity, and a ranking-guided loss",
        {
            "tokenize": {
                "tokenizer": "letter",
                "collisions": "sinkhorn",
                "options": {"n_codes": 4},
                "collaborative": {"from_model": "sasrec-ce"},
            },
            "ranking_temperature": 0.7,
        },
    ),
    ModelRow(
        "lc-rec", "sidrec.models.lcrec.recommender", "LCRec", "semantic-id", "causal language model that speaks IDs"
    ),
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
    return Rows(REGISTRY.rows())


def row_of(key: str, found: Any) -> ModelRow:
    """What an entry point leads to, a row or a class, as a row."""
    if isinstance(found, ModelRow):
        return replace(found, key=key)
    return class_row(found, key=key)


def class_row(kind: Any, *, key: str | None = None, defaults: Mapping[str, Any] | None = None) -> ModelRow:
    """A class as a row; its docstring says what it is, its capabilities what kind it is."""
    if not (isinstance(kind, type) and issubclass(kind, Recommender)):
        raise SettingsError(f"{kind!r} is not a class of models: it must inherit from Recommender.")
    family: Family = "semantic-id" if issubclass(kind, HasSemanticIds) else "item-id"
    return ModelRow(
        key or kind.key, kind.__module__, kind.__qualname__, family, first_line(kind), defaults or {}, own_class=kind
    )


REGISTRY = Registry[ModelRow]("model", "sidrec.models", lambda: MODELS, row_of)


def find_model(key: str) -> ModelRow:
    """The row of a key; an unknown key is an error with the nearest name."""
    return REGISTRY.find(key)


Registered = TypeVar("Registered", bound=type[Recommender] | type[Tokenizer])


def register(kind: Registered, *, key: str | None = None, defaults: Mapping[str, Any] | None = None) -> Registered:
    """Make an own model or tokenizer known by its key, in this process; also as a decorator.

    With `key` and `defaults` a class of models gets another row: its settings under the user's.
    """
    if issubclass(kind, Tokenizer):
        if defaults:
            raise SettingsError("a tokenizer's row has no defaults; give its settings as options.")
        TOKENIZER_REGISTRY.add(tokenizer_row(key or kind.key, kind))
    else:
        REGISTRY.add(class_row(kind, key=key, defaults=defaults))
    return kind


def load_model(path: Path) -> Recommender:
    """A saved model of any kind."""
    with opened(Path(path), "model") as artifact:
        return model_from(artifact)


def model_from(artifact: Artifact) -> Recommender:
    """The same from an open artefact."""
    key = artifact.settings.get("model")
    try:
        row = find_model(str(key))
    except SettingsError:
        words = f"was saved by the model {key!r}, which is not known here; install its package or register it first."
        raise ArtifactError(f"{artifact.path}: {words}") from None
    return row.load_class().from_artifact(artifact)
