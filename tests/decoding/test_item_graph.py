from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from sidrec.decoding import item_graph
from sidrec.decoding.item_graph import ItemGraph


def case(n_items: int = 60, n_codes: int = 3, n_values: int = 7, width: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randint(n_values, (n_items, n_codes)), F.normalize(torch.randn(n_codes, n_values, width), dim=-1)


def slow_similarity(codes: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    n = len(codes)
    similar = torch.zeros(n, n)
    for one in range(n):
        for other in range(n):
            similar[one, other] = sum(
                float(vectors[digit, codes[one, digit]] @ vectors[digit, codes[other, digit]])
                for digit in range(codes.shape[1])
            )
    return similar


def test_neighbours_are_the_most_similar_by_their_codes():
    codes, vectors = case()
    graph = ItemGraph.build(codes, vectors, n_edges=4, n_doors=2)
    similar = slow_similarity(codes, vectors).fill_diagonal_(-torch.inf)
    best = similar.topk(4).values
    torch.testing.assert_close(similar.gather(1, graph.neighbours), best)


@pytest.mark.parametrize("limit", [10, 10_000])
def test_sketches_and_cells_find_nearly_the_same(limit, monkeypatch):
    """Long IDs are compared by sketches first, many items only within cells; the order is exact in any case."""
    monkeypatch.setattr(item_graph, "EXACT_UP_TO", limit)
    codes, vectors = case(n_items=1500, n_codes=8, n_values=9, width=64)
    groups = torch.arange(1500) % 50
    codes[:, :5] = codes[groups, :5]  # fifty families
    graph = ItemGraph.build(codes, vectors, n_edges=10, n_doors=2)
    assert (groups[graph.neighbours] == groups[:, None]).float().mean() > 0.9


def test_doors_lead_to_items_with_the_code():
    codes, vectors = case()
    doors = ItemGraph.build(codes, vectors, n_edges=4, n_doors=3).doors
    for digit in range(3):
        for code in range(7):
            inside = doors[digit, code][doors[digit, code] >= 0]
            having = (codes[:, digit] == code).nonzero().flatten()
            assert len(inside) == len(set(inside.tolist())) == min(3, len(having))
            assert set(inside.tolist()) <= set(having.tolist())


def test_tiny_catalogues_have_fewer_edges():
    codes, vectors = case(n_items=3)
    assert ItemGraph.build(codes, vectors, n_edges=10, n_doors=2).neighbours.shape == (3, 2)
    alone = ItemGraph.build(codes[:1], vectors, n_edges=10, n_doors=2)
    assert alone.neighbours.shape == (1, 0)
