"""What happens to items that were given the same ID: four policies, by name."""

from __future__ import annotations

from math import ceil, log, prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.sids.base import Codes
from sidrec.sids.id_keys import contains, id_keys
from sidrec.sids.sinkhorn import spread_last_codes
from sidrec.sids.unique_ids import CostsOf, make_unique

Policy = Literal["unique", "extra-code", "sinkhorn", "keep"]
"""unique: every item moves to the nearest free ID; extra-code: one more slot counts within a collision (TIGER);
sinkhorn: the last slot is dealt out evenly among the colliding (LC-Rec), some may remain; keep: nothing is done."""


def check_room(n_items: int, sizes: tuple[int, ...], policy: Policy) -> None:
    """Refuse more items than IDs before anything is trained, and say what would do."""
    if policy != "unique" or n_items <= prod(sizes):
        return
    largest, slots = max(sizes), len(sizes)
    longer = ceil(log(n_items) / log(largest) - 1e-9) if largest > 1 else None
    wider = ceil(n_items ** (1 / slots) - 1e-9)
    wider += wider**slots < n_items
    shape = " x ".join(str(size) for size in sizes)
    more_slots = f"n_codes={longer} with codebook_size={largest}, or " if longer else ""
    raise InputError(
        f"{n_items} items need an ID each, but codebooks of {shape} codes give only {prod(sizes)}; "
        f"choose {more_slots}n_codes={slots} with codebook_size={wider}."
    )


def resolve(codes: Codes, sizes: tuple[int, ...], policy: Policy, costs_of: CostsOf) -> tuple[Codes, tuple[int, ...]]:
    """IDs after the policy, and their codebook sizes (one more with `extra-code`)."""
    if policy == "unique":
        return make_unique(codes, sizes, costs_of), sizes
    if policy == "sinkhorn":
        return spread_last_codes(codes, sizes, costs_of), sizes
    if policy == "extra-code":
        extra = number_in_group(id_keys(codes, sizes))
        largest = int(extra.max()) + 1
        # twice the largest collision: new items will join it
        return np.column_stack([codes, extra]).astype(np.int32), (*sizes, max(sizes[-1], 2 * largest))
    return codes, sizes


def resolve_new(
    codes: Codes, old: Codes, sizes: tuple[int, ...], policy: Policy, costs_of: CostsOf
) -> tuple[Codes, tuple[int, ...]]:
    """IDs of new items beside `old` ones, which stay; only `keep` lets a new item share an ID."""
    if policy == "keep":
        return codes, sizes
    if policy == "extra-code":
        return _counted_on(codes, old, sizes), sizes
    taken = id_keys(old, sizes)
    check_room(len(np.unique(taken)) + len(codes), sizes, "unique")
    return make_unique(codes, sizes, costs_of, taken), sizes


def number_in_group(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """0 for the first item with a key, 1 for the second, and so on."""
    order = np.argsort(keys, kind="stable")
    first = np.ones(len(keys), dtype=bool)
    first[1:] = keys[order][1:] != keys[order][:-1]
    starts = np.maximum.accumulate(np.where(first, np.arange(len(keys)), 0))
    numbers = np.empty(len(keys), np.int64)
    numbers[order] = np.arange(len(keys)) - starts
    return numbers


def _counted_on(codes: Codes, old: Codes, sizes: tuple[int, ...]) -> Codes:
    """The extra code goes on where the old items of the same codes stopped."""
    old_keys, keys = id_keys(old[:, :-1], sizes[:-1]), id_keys(codes, sizes[:-1])
    known, counts = np.unique(old_keys, return_counts=True)
    extra = number_in_group(keys)
    found = contains(known, keys)
    extra[found] += counts[np.searchsorted(known, keys[found])]
    if len(extra) and extra.max() >= sizes[-1]:
        crowd = int(extra.max()) + 1
        raise InputError(
            f"{crowd} items would share their first {len(sizes) - 1} codes, the extra code counts only to {sizes[-1]}; "
            "tokenize all items again."
        )
    return np.column_stack([codes, extra]).astype(np.int32)
