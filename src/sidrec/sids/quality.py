"""Health of semantic IDs: how the codes are used, what collides, what is lost, and whether near items share codes."""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from sidrec.sids.base import Codes, Tokenizer
from sidrec.sids.inputs import Floats
from sidrec.sids.semantic_ids import SemanticIds

_NEIGHBOURS = 10
_MOST_ITEMS = 100_000
_MOST_PAIRS = 200_000_000


def health(tokenizer: Tokenizer, vectors: Floats, nearest: Codes, ids: SemanticIds) -> dict[str, Any]:
    """The figures of the report; `nearest` are the codes before the collision policy, `ids` the ones after it."""
    before = SemanticIds(nearest, tokenizer.codebook_sizes, ids.item_ids)
    use = [np.bincount(ids.codes[:, slot], minlength=size) for slot, size in enumerate(ids.codebook_sizes)]
    sample = spread_sample(len(vectors), _MOST_ITEMS)
    inputs = tokenizer.space.apply(vectors[sample])
    return {
        "items": ids.n_items,
        "unique_ids": ids.n_unique,
        "collisions_before": before.n_colliding,
        "collisions_after": ids.n_colliding,
        "collision_rate_before": 1 - before.n_unique / ids.n_items,
        "collision_rate_after": 1 - ids.n_unique / ids.n_items,
        "moved_items": int((ids.codes[:, : nearest.shape[1]] != nearest).any(axis=1).sum()),
        "identical_vectors": count_identical(vectors),
        "used_codes": int(sum((counts > 0).sum() for counts in use)),
        "codes": sum(ids.codebook_sizes),
        "codebook_sizes": list(ids.codebook_sizes),
        "used_per_codebook": [int((counts > 0).sum()) for counts in use],
        "perplexity_per_codebook": [round(perplexity(counts), 2) for counts in use],
        "reconstruction_error": relative_error(inputs, tokenizer.reconstruct_inputs(nearest[sample])),
        "reconstruction_error_after": relative_error(
            inputs, tokenizer.reconstruct_inputs(ids.codes[sample, : nearest.shape[1]])
        ),
        "reconstruction_error_vectors": relative_error(vectors[sample], tokenizer.reconstruct(nearest[sample])),
        "neighbour_agreement": neighbour_agreement(vectors, ids.codes),
        "neighbour_agreement_by_chance": min(_NEIGHBOURS / max(ids.n_items - 1, 1), 1.0),
    }


def perplexity(counts: NDArray[np.int64]) -> float:
    """exp of the entropy of the use: how many codes it would take if all were used alike."""
    shares = counts[counts > 0] / counts.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def relative_error(vectors: Floats, restored: Floats) -> float:
    """Squared error as a share of the variance around the mean; 0 where there is no variance and no error."""
    error = float(((vectors - restored).astype(np.float64) ** 2).sum())
    variance = float(((vectors - vectors.mean(axis=0)).astype(np.float64) ** 2).sum())
    return error / variance if variance > 0 else float(error > 1e-6 * max(float((vectors**2).sum()), 1e-12))


def neighbour_agreement(vectors: Floats, codes: Codes, n_neighbours: int = _NEIGHBOURS) -> float:
    """Share of an item's nearest items by vector that are also among its nearest by codes in common.

    Items that tie for the last places by codes count with the chance of getting one; large sets are sampled.
    """
    n_items = len(vectors)
    k = min(n_neighbours, n_items - 1)
    if k < 1:
        return 1.0
    asked = spread_sample(n_items, min(2_000, max(_MOST_PAIRS // n_items, 50)))
    neighbours = nearest_items(vectors, asked, k)
    found = [_expected_hits(codes, item, row, k) for item, row in zip(asked, neighbours, strict=True)]
    return float(np.mean(found)) / k


def nearest_items(vectors: Floats, asked: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """The k nearest other items (squared L2) of some items: (asked, k)."""
    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors))
    found = index.search(np.ascontiguousarray(vectors[asked]), k + 1)[1]
    # where more than k items are identical the item itself may be missing: then the last one goes
    is_self = found == asked[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    others: NDArray[np.int64] = found[~is_self].reshape(len(asked), k)
    return others


def _expected_hits(codes: Codes, item: int, neighbours: NDArray[np.int64], k: int) -> float:
    """How many of `neighbours` a list of the k items with most codes in common holds, ties drawn at random."""
    shared = np.zeros(len(codes), np.int16)
    for slot in range(codes.shape[1]):
        shared += codes[:, slot] == codes[item, slot]
    shared[item] = -1
    last = np.partition(shared, len(shared) - k)[len(shared) - k]
    above = int((shared > last).sum())
    ties = int((shared == last).sum())
    mine = shared[neighbours]
    return float((mine > last).sum() + (mine == last).sum() * (k - above) / ties)


def spread_sample(n_items: int, most: int) -> NDArray[np.int64]:
    """At most `most` items, evenly spread over the catalogue."""
    return np.unique(np.linspace(0, n_items - 1, min(n_items, most)).round().astype(np.int64))


def count_identical(vectors: Floats) -> int:
    """How many items have exactly the vector of another one (the same text, or none)."""
    weights = np.random.default_rng(0).integers(2**63, size=vectors.shape[1], dtype=np.uint64) * 2 + 1
    hashes = []
    for start in range(0, len(vectors), 16_384):
        bits = np.ascontiguousarray(vectors[start : start + 16_384] + np.float32(0)).view(np.uint32)
        hashes.append((bits.astype(np.uint64) * weights).sum(axis=1, dtype=np.uint64))
    counts = np.unique(np.concatenate(hashes), return_counts=True)[1]
    return int(counts[counts > 1].sum())
