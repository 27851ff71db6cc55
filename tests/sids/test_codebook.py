from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.quantiser import distance_to_sum, parallel_codes, residual_codes, squared
from sidrec.sids.codebook import Codebooks


def books_of(sizes: tuple[int, ...], width: int, seed: int) -> tuple[Codebooks, list[np.ndarray]]:
    """Codebooks on a grid of eighths, so that all distances are exact."""
    books = Codebooks(sizes, width)
    rng = np.random.default_rng(seed)
    own = [rng.integers(-16, 17, (size, width)) / 8 for size in sizes]
    with torch.no_grad():
        for slot, vectors in enumerate(own):
            books.vectors[slot, : len(vectors)] = torch.from_numpy(vectors)
    return books, own


shapes = st.tuples(
    st.lists(st.integers(1, 7), min_size=1, max_size=6).map(tuple), st.integers(1, 4), st.integers(0, 999)
)


@settings(max_examples=60, deadline=None)
@given(shapes)
@pytest.mark.slow
def test_parallel_agrees_with_the_slow_twin(shape: tuple[tuple[int, ...], int, int]) -> None:
    sizes, width, seed = shape
    books, own = books_of(sizes, width, seed)
    latents = np.random.default_rng(seed + 1).integers(-16, 17, (5, len(sizes), width)) / 8
    found = books.parallel(torch.from_numpy(latents).float())
    assert found.codes.tolist() == parallel_codes(latents, own)
    distances = books.distances(torch.from_numpy(latents).float()).detach()
    for slot, size in enumerate(sizes):
        assert torch.isinf(distances[:, slot, size:]).all()
        assert float(distances[0, slot, size - 1]) == squared(latents[0, slot], own[slot][size - 1])


@settings(max_examples=60, deadline=None)
@given(shapes)
def test_residual_agrees_with_the_slow_twin(shape: tuple[tuple[int, ...], int, int]) -> None:
    sizes, width, seed = shape
    books, own = books_of(sizes, width, seed)
    latents = np.random.default_rng(seed + 1).integers(-16, 17, (5, width)) / 8
    tensor = torch.from_numpy(latents).float()
    codes = books.residual(tensor).codes
    assert codes.tolist() == residual_codes(latents, own)
    costs = books.residual_distances(tensor, codes)
    for slot, size in enumerate(sizes):
        instead = [*codes[0].tolist()]
        instead[slot] = size - 1
        assert float(costs[0, slot, size - 1]) == distance_to_sum(latents[0], own, instead)


def test_a_point_chooses_the_code_it_lies_on() -> None:
    books, _ = books_of((2, 3), 2, 0)
    with torch.no_grad():
        books.vectors[0, :2] = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
        books.vectors[1, :3] = torch.tensor([[5.0, 5.0], [0.0, 0.0], [-1.0, 0.0]])
    found = books.parallel(torch.tensor([[[0.9, 0.8], [-0.9, 0.0]]]))
    assert found.codes.tolist() == [[1, 2]]
    assert found.chosen.tolist() == [[[1.0, 1.0], [-1.0, 0.0]]]


def test_kmeans_start_puts_codes_on_separate_heaps() -> None:
    heaps = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    points = heaps.repeat(20, 1) + 0.01 * torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    books = Codebooks((3,), 2)
    books.start_slot(0, points, seed=0)
    nearest = torch.cdist(heaps, books.vectors[0].detach()).amin(1)
    assert float(nearest.max()) < 0.1


def test_dead_codes_restart_on_badly_served_points_only() -> None:
    books = Codebooks((3, 2), 1)
    with torch.no_grad():
        books.vectors[0] = torch.tensor([[0.0], [50.0], [60.0]])
        books.vectors[1, :2] = torch.tensor([[0.0], [7.0]])
    targets = torch.tensor([[[0.0], [0.0]], [[0.0], [7.0]], [[9.0], [0.0]]])
    books.count(books.parallel(targets).codes)
    assert books.used.tolist() == [[3.0, 0.0, 0.0], [2.0, 1.0, 0.0]]
    assert books.share_used().item() == pytest.approx(3 / 5)
    assert books.restart_dead(targets, torch.Generator().manual_seed(0)) == 2
    # only one point of slot 0 is away from its code, so one dead code moves there and the other stays
    assert sorted(books.vectors[0, :, 0].tolist()) == [0.0, 9.0, 60.0]
    assert books.vectors[1, :2, 0].tolist() == [0.0, 7.0]
    assert float(books.used.sum()) == 0


def test_slots_with_fewer_codes_never_restart_rows_beyond_their_own() -> None:
    books = Codebooks((1, 4), 1)
    books.count(torch.zeros((2, 2), dtype=torch.long))
    books.restart_dead(torch.arange(8.0).view(4, 2, 1), torch.Generator().manual_seed(0))
    assert books.vectors[0, 1:].abs().sum() == 0
