"""Fit, encode and part a number of random clustered items in this process; the last line is JSON."""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
from numpy.typing import NDArray

from sidrec.sids.collisions import resolve
from sidrec.sids.registry import find_tokenizer
from sidrec.sids.semantic_ids import SemanticIds

WIDTH = 64
# the tokenizers that train do the same work per item at every size
EPOCHS = 1


def clustered_vectors(n_items: int) -> NDArray[np.float32]:
    """Clusters of 5 items in small sets, of 50 in large ones, with noise of half the clusters' spread."""
    rng = np.random.default_rng(0)
    n_clusters = min(n_items // 5, 20_000)
    centres = rng.standard_normal((n_clusters, WIDTH), dtype=np.float32)
    vectors = rng.standard_normal((n_items, WIDTH), dtype=np.float32)
    vectors *= 0.5
    vectors += centres[rng.integers(0, n_clusters, n_items)]
    return vectors


def measure(n_items: int, tokenizer: str) -> dict[str, float]:
    vectors = clustered_vectors(n_items)
    kind = find_tokenizer(tokenizer).load_class()
    training = {"training": {"epochs": EPOCHS, "validate_every": EPOCHS}} if tokenizer.endswith("vae") else {}
    model = kind(kind.settings_class.parse({"pca": None, "whiten": False, **training}, owner=tokenizer))
    began = time.perf_counter()
    model.fit(vectors)
    fitted = time.perf_counter()
    nearest = model.encode(vectors)
    encoded = time.perf_counter()
    codes, sizes = resolve(
        nearest, model.codebook_sizes, "unique", lambda items: model.code_distances(vectors[items], nearest[items])
    )
    resolved = time.perf_counter()
    names = [""] * n_items
    return {
        "seconds": resolved - began,
        "fit": fitted - began,
        "encode": encoded - fitted,
        "resolve": resolved - encoded,
        "colliding": SemanticIds(nearest, sizes, names).n_colliding,
        "colliding_after": SemanticIds(codes, sizes, names).n_colliding,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


print(json.dumps(measure(int(sys.argv[2]), sys.argv[1])))
