"""Weights of an earlier model as the beginning of a new one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sidrec.core.errors import SettingsError
from sidrec.models.growth import Growth
from sidrec.models.item_objective import ItemNetwork
from sidrec.training.weights import learned, put_back

_ITEMS = "items."


def inherit(network: nn.Module, earlier: nn.Module) -> None:
    """All that was learned; for networks that know their items by codes alone."""
    weights = learned(earlier)
    _refuse_other(learned(network), weights)
    put_back(network, weights)


def inherit_items(network: ItemNetwork, earlier: ItemNetwork, growth: Growth) -> None:
    """The same for networks with rows for items: those of an item go with its id, new ones stay as they are."""
    fresh, weights = learned(network), learned(earlier)
    _refuse_other(fresh, weights)
    put_back(network, {**fresh, **{name: of for name, of in weights.items() if not name.startswith(_ITEMS)}})
    network.items.take_over(earlier.items, torch.from_numpy(growth.source).long())


def _refuse_other(wanted: dict[str, Tensor], found: dict[str, Tensor]) -> None:
    """Settings that make another network; tables of items may have more or fewer rows."""
    for name in {**wanted, **found}:
        ours, theirs = (_shape(name, tensors.get(name)) for tensors in (wanted, found))
        if ours != theirs:
            words = f"{name} would be {ours or 'left out'}, and the earlier model's is {theirs or 'not there'}"
            raise SettingsError(f"these settings make another network: {words}; leave those of its size as they were.")


def _shape(name: str, tensor: Tensor | None) -> tuple[int, ...] | None:
    if tensor is None:
        return None
    rows_may_differ = name in ("items.weight", "items.code")
    return tuple(tensor.shape[1:] if rows_may_differ else tensor.shape)
