"""Tuples of codes as single numbers, so that millions of them can be compared, sorted and searched at once."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

# An odd multiplier with well-spread bits (2^64 divided by the golden ratio).
_SPREAD = 0x9E3779B97F4A7C15


def weights_of(codebook_sizes: tuple[int, ...]) -> NDArray[np.uint64]:
    """What a code of each slot counts in the key.

    Where all tuples fit 64 bits, keys are exact (place values). Longer IDs get wrapped odd weights: equal tuples still
    have equal keys; that two different ones share a key is a matter of 2^-64, and then merely one item moves
    without need.
    """
    weights, weight = [], 1
    exact = prod(codebook_sizes) < 2**64
    for size in reversed(codebook_sizes):
        weights.append(weight % 2**64)
        weight = weight * size if exact else (weight * _SPREAD) % 2**64
    return np.array(weights[::-1], dtype=np.uint64)


def id_keys(codes: NDArray[np.integer], codebook_sizes: tuple[int, ...]) -> NDArray[np.uint64]:
    """One key per row of `codes` (n, n_codes); sorted keys are sorted tuples where keys are exact."""
    keys: NDArray[np.uint64] = (codes.astype(np.uint64) * weights_of(codebook_sizes)).sum(axis=-1, dtype=np.uint64)
    return keys


def contains(sorted_keys: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of `keys` are in `sorted_keys`."""
    if len(sorted_keys) == 0:
        return np.zeros(keys.shape, dtype=bool)
    positions = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    found: NDArray[np.bool_] = sorted_keys[positions] == keys
    return found


def groups(keys: NDArray[np.uint64], at_least: int = 1) -> list[NDArray[np.int64]]:
    """Rows with equal keys, ascending, of every key that at least so many rows have; in order of the key."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], keys[order][1:] != keys[order][:-1]])) if len(keys) else order
    counts = np.diff(starts, append=len(keys))
    wanted = counts >= at_least
    return [order[start : start + n] for start, n in zip(starts[wanted], counts[wanted], strict=True)]
