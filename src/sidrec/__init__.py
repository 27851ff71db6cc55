"""Generative recommendation with semantic IDs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sidrec.data.prepare import read_dataset

# public name -> where it lives; loaded on first use, so that `import sidrec` stays light
_PUBLIC = {
    "read_dataset": "sidrec.data.prepare",
}

__all__ = ["read_dataset"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'sidrec' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
