"""What a model that begins with another one's weights may have otherwise, and what not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import InputError, SettingsError
from sidrec.core.settings import Settings, merge
from sidrec.data.catalog import Catalog
from sidrec.embeddings.encoders import GIVEN
from sidrec.models.capabilities import LearnsOn
from sidrec.models.stock import Stock

STARTED_FROM = "started_from"
_FROZEN = ("item_vectors", "tokenize", "embedding")
"""How items become vectors and codes."""
_ORIGIN = ("vectors", "encoder", "from_model", "model_settings")
"""Own vectors may lie elsewhere every week."""


def refuse_who_cannot(model: object, key: str) -> None:
    if not isinstance(model, LearnsOn):
        raise InputError(f"{key} cannot begin with what another one has learned; fit a new one instead.")


def successor_values(settings: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a model, with changes; a file of own vectors comes instead of whatever made them before."""
    values = merge(settings.model_dump(mode="json"), changes)
    embedding = changes.get("embedding")
    if isinstance(embedding, Mapping) and embedding.get("vectors"):
        values["embedding"] = {**values["embedding"], "encoder": GIVEN, "from_model": None, "model_settings": {}}
    return values


def refuse_other_items(before: Settings, now: Settings) -> None:
    """Old items keep their vectors and codes, so nothing that makes such can be set otherwise."""
    old, new = before.method_values(), now.method_values()
    for name in _FROZEN:
        free = _ORIGIN if name == "embedding" and name in new and new[name]["vectors"] is not None else ()
        section, other = (_without(values.get(name), free) for values in (old, new))
        if section != other:
            words = "stays what it was in the earlier model, because old items keep their codes and vectors"
            raise SettingsError(f"{name}: {words}; leave it out, or train a new model.")


def refuse_other_ids(start: object | None) -> None:
    """A model that begins with another one's weights speaks its codes."""
    if start is not None:
        words = "a model that begins with an earlier one keeps its semantic IDs; leave others out."
        raise SettingsError(words, arguments=("sids",))


def still_removed(before: Stock, catalog: Catalog) -> NDArray[np.bool_] | None:
    """What was removed from the earlier model must not come back by itself."""
    if before.removed is None:
        return None
    items = before.catalog.index_of(catalog.item_ids.to_list())
    gone: NDArray[np.bool_] = (items >= 0) & before.removed[items]
    if gone.all():
        raise InputError("every item of this data was removed from the earlier model; restore some of them first.")
    return gone if gone.any() else None


def _without(section: Any, names: Sequence[str]) -> Any:
    return {name: value for name, value in section.items() if name not in names} if section else None
