"""Which codes can still become an item: by looking at every item."""

from __future__ import annotations

import numpy as np


def slow_fitting(item_codes: np.ndarray, beam: list[int], blocked: set[int] = frozenset()) -> list[int]:
    """Items that agree with the filled slots and are not blocked."""
    return [
        item
        for item, codes in enumerate(item_codes.tolist())
        if item not in blocked and all(want in (-1, code) for want, code in zip(beam, codes, strict=True))
    ]


def slow_valid(
    item_codes: np.ndarray, beam: list[int], slot: int, codebook_size: int, blocked: set[int] = frozenset()
) -> list[bool]:
    """For every code of the slot: does some item remain?"""
    left = {int(item_codes[item, slot]) for item in slow_fitting(item_codes, beam, blocked)}
    return [code in left for code in range(codebook_size)]


def random_beams(rng: np.random.Generator, item_codes: np.ndarray, n_beams: int, n_filled: int) -> np.ndarray:
    """Half of them agree with an item, half are any codes."""
    n_codes = item_codes.shape[1]
    codes = item_codes[rng.integers(0, len(item_codes), n_beams)].astype(np.int64)
    strangers = rng.random(n_beams) < 0.5
    codes[strangers] = np.stack([rng.permutation(column) for column in codes.T], axis=1)[strangers]
    for beam in codes:
        beam[rng.permutation(n_codes)[n_filled:]] = -1
    return codes
