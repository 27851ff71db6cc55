"""Semantic IDs drawn at random, for networks that need some catalogue."""

from __future__ import annotations

import numpy as np

from sidrec.sids.semantic_ids import SemanticIds


def random_ids(n_items: int, sizes: tuple[int, ...], seed: int = 0) -> SemanticIds:
    codes = np.random.default_rng(seed).integers(0, sizes, (n_items, len(sizes))).astype(np.int32)
    return SemanticIds(codes, sizes, [str(item) for item in range(n_items)])
