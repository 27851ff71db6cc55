"""Generative recommendation with semantic IDs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sidrec.data.prepare import read_dataset
    from sidrec.models.llada_rec.recommender import LLaDARec
    from sidrec.models.registry import load_model as load
    from sidrec.pipeline.recommend_many import recommend_many

# public name -> module and name it has there; loaded on first use, so that `import sidrec` stays light
_PUBLIC = {
    "LLaDARec": ("sidrec.models.llada_rec.recommender", "LLaDARec"),
    "load": ("sidrec.models.registry", "load_model"),
    "recommend_many": ("sidrec.pipeline.recommend_many", "recommend_many"),
    "read_dataset": ("sidrec.data.prepare", "read_dataset"),
}

__all__ = ["LLaDARec", "load", "read_dataset", "recommend_many"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'sidrec' has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
