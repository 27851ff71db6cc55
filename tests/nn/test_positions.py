from __future__ import annotations

import pytest
import torch

from sidrec.core.errors import InputError
from sidrec.nn.positions import SPEED, Distances, Positions


def places(n_history: int, n_codes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ages and slots of a flat sequence: history oldest first, then the target."""
    return torch.arange(n_history, -1, -1).repeat_interleave(n_codes), torch.arange(n_codes).repeat(n_history + 1)


def test_a_longer_history_shifts_nothing():
    positions = Positions(n_codes=2, max_history=5, d_model=4)
    short, long = positions(*places(2, 2), 2), positions(*places(5, 2), 5)
    assert torch.equal(long[-len(short) :], short)


def test_known_vectors_counted_from_the_newest():
    positions = Positions(n_codes=2, max_history=2, d_model=1)
    with torch.no_grad():
        positions.token.weight.copy_(torch.tensor([[0.25], [0.5]]))
        positions.item.weight.copy_(torch.tensor([[0.0], [10.0], [20.0]]))
    assert positions(*places(2, 2), 2).flatten().tolist() == [20.25, 20.5, 10.25, 10.5, 0.25, 0.5]


def test_absolute_positions_count_from_the_oldest():
    positions = Positions(n_codes=2, max_history=2, d_model=1, kind="absolute")
    with torch.no_grad():
        positions.token.weight.copy_(torch.arange(6.0)[:, None])
        positions.item.weight.copy_(torch.tensor([[0.0], [100.0], [200.0]]))
    assert positions(*places(2, 2), 2).flatten().tolist() == [0, 1, 102, 103, 204, 205]
    assert positions(*places(1, 2), 1).flatten().tolist() == [0, 1, 102, 103]


def test_the_authors_positions_have_a_vector_for_every_age_and_slot():
    """Padded on the left to two items, the target stands at item 2 (tokens 4 and 5), whatever its history."""
    positions = Positions(n_codes=2, max_history=2, d_model=1, kind="authors")
    with torch.no_grad():
        positions.token.weight.copy_(torch.arange(6.0)[:, None])
        positions.item.weight.copy_(torch.tensor([[0.0], [100.0], [200.0]]))
    assert positions(*places(2, 2), 2).flatten().tolist() == [0, 1, 102, 103, 204, 205]
    assert positions(*places(1, 2), 1).flatten().tolist() == [102, 103, 204, 205]
    assert positions(*places(0, 2), 0).flatten().tolist() == [204, 205]


def test_absolute_positions_of_a_padded_batch():
    positions = Positions(n_codes=2, max_history=3, d_model=4, kind="absolute")
    age, slot = places(3, 2)
    batch = positions(age.expand(2, -1), slot, torch.tensor([[3], [1]]))
    assert torch.equal(batch[1, 4:], positions(*places(1, 2), 1))


def test_too_long_a_history_is_refused_in_words():
    positions = Positions(n_codes=2, max_history=3, d_model=4)
    positions.check(3)
    with pytest.raises(InputError, match=r"4 items is longer than the 3 positions.*last 3 items"):
        positions.check(4)


def test_distances_by_hand():
    """Two heads; what is farther apart than the longest distance counts as that, and who may not look sees nothing."""
    distances = Distances(2, longest=1)
    distances.bias.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]]) / SPEED
    at, never = torch.arange(3), float("-inf")
    assert distances(at, at, at[:, None] >= at)[0].tolist() == [
        [[1, never, never], [2, 1, never], [2, 2, 1]],
        [[3, never, never], [4, 3, never], [4, 4, 3]],
    ]
