"""A graph over the items: each knows the items most like it, and every code leads to some items that have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
import torch
from torch import Tensor

SKETCH_WIDTH = 256
"""Numbers that stand for an item while candidates for its neighbours are looked for."""
CANDIDATES = 4
"""Candidates for each neighbour that is kept."""
EXACT_UP_TO = 30_000
"""Items up to which every pair is looked at; beyond, only pairs whose sketches fall near each other."""
_CELLS = 4_000_000


@dataclass(frozen=True)
class ItemGraph:
    """Where a walk over the catalogue can begin, and where it can go."""

    codes: Tensor  # (n_items, n_codes) int64
    neighbours: Tensor  # (n_items, n_edges) int64, the most similar first
    doors: Tensor  # (n_codes, K, n_doors) int64: items with that code, -1 where there are fewer

    @classmethod
    def build(cls, codes: Tensor, vectors: Tensor, n_edges: int, n_doors: int) -> ItemGraph:
        """Similarity is the sum over the slots of the dot products of the codes' vectors (n_codes, K, width)."""
        n_edges = min(n_edges, len(codes) - 1)
        sketches = _sketches(codes, vectors)
        near = _near(sketches, min(CANDIDATES * n_edges + 1, len(codes)))
        tables = vectors @ vectors.mT  # (n_codes, K, K)
        neighbours = [
            _most_similar(first, near[first : first + rows], codes, tables, n_edges)
            for rows in [max(_CELLS // (near.shape[1] * codes.shape[1]), 1)]
            for first in range(0, len(codes), rows)
        ]
        return cls(codes, torch.cat(neighbours), _doors(codes, vectors.shape[1], n_doors))


def _sketches(codes: Tensor, vectors: Tensor) -> Tensor:
    """The codes' vectors side by side, thrown to fewer numbers (n_items, sketch): dot products nearly stay."""
    n_codes, _, width = vectors.shape
    if n_codes * width <= SKETCH_WIDTH:
        return vectors[torch.arange(n_codes), codes].flatten(1)
    throw = torch.randn(n_codes, width, SKETCH_WIDTH, generator=torch.Generator().manual_seed(0)) / SKETCH_WIDTH**0.5
    thrown = torch.bmm(vectors, throw)  # (n_codes, K, sketch)
    total = thrown.new_zeros(len(codes), SKETCH_WIDTH)
    for slot in range(n_codes):
        total += thrown[slot, codes[:, slot]]
    return total


def _near(sketches: Tensor, n: int) -> Tensor:
    """Numbers (n_items, n) of items with a large dot product, the item itself among them."""
    points = np.ascontiguousarray(sketches.numpy())
    index: Any = faiss.IndexFlatIP(points.shape[1])
    if len(points) > EXACT_UP_TO:
        n_cells = int(len(points) ** 0.5)
        index = faiss.IndexIVFFlat(index, points.shape[1], n_cells, faiss.METRIC_INNER_PRODUCT)
        index.nprobe = 8
        index.train(points[:: max(len(points) // (64 * n_cells), 1)])
    index.add(points)
    return torch.from_numpy(index.search(points, n)[1])


def _most_similar(first: int, near: Tensor, codes: Tensor, tables: Tensor, n_edges: int) -> Tensor:
    """The best of the candidates (rows, n) of items `first`, `first` + 1, ..., by exact similarity; never the item."""
    rows = torch.arange(first, first + len(near))
    own, other = codes[rows].unsqueeze(1), codes[near.clamp_min(0)]  # (rows, 1 | n, n_codes)
    similar = tables[torch.arange(codes.shape[1]), own, other].sum(-1)
    similar = similar.masked_fill((near == rows.unsqueeze(1)) | (near < 0), -torch.inf)
    best, columns = similar.topk(n_edges)
    chosen = near.gather(1, columns)
    return torch.where(best > -torch.inf, chosen, chosen[:, :1])


def _doors(codes: Tensor, n_values: int, n_doors: int) -> Tensor:
    """Some items of each code, the same at every call, spread over all that have it."""
    shuffled = torch.randperm(len(codes), generator=torch.Generator().manual_seed(0))
    doors = torch.full((codes.shape[1], n_values, n_doors), -1)
    for slot in range(codes.shape[1]):
        own = codes[shuffled, slot]
        order = own.argsort(stable=True)
        ordered = own[order]
        place = torch.arange(len(own)) - torch.searchsorted(ordered, ordered)
        kept = place < n_doors
        doors[slot, ordered[kept], place[kept]] = shuffled[order[kept]]
    return doors
