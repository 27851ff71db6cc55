"""Three sizes of every experiment: widths, epochs and users are picked together, by one word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from sidrec.core.settings import merge
from sidrec.pipeline.benchmark.budget import Budget
from sidrec.sids.registry import find_tokenizer
from sidrec.sids.tokenize import TokenizeSettings

ScaleName = Literal["tiny", "small", "paper"]


@dataclass(frozen=True)
class Scale:
    """What a size means; settings reach the models (and tokenizers) that have them."""

    budget: Budget
    users: int | None
    """A data set with more users is sampled down to this many; None takes all."""
    shop: tuple[int, int]
    """Items and shoppers of the synthetic shop."""
    judged_on_validation: int | None
    """Users judged on their validation item (test always takes all)."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Laid over a model's recipe."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Laid under a model's recipe: for those that have none."""
    tokenizer: Mapping[str, Any] = field(default_factory=dict)


SCALES: dict[ScaleName, Scale] = {
    "tiny": Scale(
        budget=Budget(epochs=8),
        users=600,
        shop=(300, 600),
        judged_on_validation=300,
        settings={
            "d_model": 32,
            "d_ff": 64,
            "n_layers": 1,
            "n_heads": 2,
            "validation_users": 100,
            "training": {"validate_every": 2},
            "search": {"beam_size": 10},
            "embedding": {"encoder": "tfidf"},
        },
        defaults={"training": {"batch_size": 64, "learning_rate": 3e-3}},
        tokenizer={
            "codebook_size": 16,
            "pca": 32,
            "hidden": [64],
            "code_width": 8,
            "training": {"epochs": 100, "batch_size": 64, "learning_rate": 5e-3},
        },
    ),
    "small": Scale(
        budget=Budget(epochs=8, minutes=10),
        users=10_000,
        shop=(2000, 8000),
        judged_on_validation=2000,
        settings={
            "d_model": 64,
            "d_ff": 128,
            "n_layers": 2,
            "n_heads": 4,
            "max_history": 10,
            "validation_users": 2000,
            "training": {"validate_every": 4},
            "search": {"beam_size": 20},
        },
        defaults={"training": {"batch_size": 256, "learning_rate": 3e-3}},
    ),
    "paper": Scale(
        budget=Budget(epochs=150),
        users=None,
        shop=(12_000, 50_000),
        judged_on_validation=None,
        tokenizer={"training": {"epochs": 10_000, "batch_size": 2048}},
    ),
}


def fitting(cls: type[BaseModel], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the wanted values that these settings have, section by section."""
    found = {}
    for name, value in wanted.items():
        if name in cls.model_fields:
            inner = _section_of(cls, name)
            found[name] = value if inner is None or not isinstance(value, Mapping) else fitting(inner, value)
    return found


def _section_of(cls: type[BaseModel], name: str) -> type[BaseModel] | None:
    """The settings class behind a setting that is a section of its own."""
    inner: Any = cls.model_fields[name].annotation if name in cls.model_fields else None
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def with_tokenizer(cls: type[BaseModel], values: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Lay tokenizer options under those of a model that tokenizes; whatever tokenizer it has takes what it knows."""
    if _section_of(cls, "tokenize") is not TokenizeSettings:
        return dict(values)
    given = dict(values.get("tokenize", {}))
    name = given.get("tokenizer", cls.model_fields["tokenize"].get_default(call_default_factory=True).tokenizer)
    options = fitting(find_tokenizer(name).load_class().settings_class, wanted)
    return merge(values, {"tokenize": {**given, "options": merge(options, given.get("options", {}))}})
