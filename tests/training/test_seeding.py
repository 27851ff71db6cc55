from __future__ import annotations

from itertools import product

import numpy as np
import torch

from sidrec.training.seeding import epoch_order, generator, mixed_seed


def test_neighbouring_positions_share_no_seed():
    """Nor any of the low 32 bits, which are all that PyTorch keeps on a CPU."""
    positions = product(range(3), ("noise", "dropout"), range(20), range(20))
    seeds = [mixed_seed(seed, purpose, epoch, step) for seed, purpose, epoch, step in positions]
    assert len({seed % 2**32 for seed in seeds}) == len(seeds)
    assert all(0 <= seed < 2**64 for seed in seeds)
    ones = np.mean([bin(seed).count("1") for seed in seeds])
    assert 31 < ones < 33


def test_counters_are_not_run_together():
    assert mixed_seed(1, "noise", 2, 3) != mixed_seed(1, "noise", 23)
    assert mixed_seed(1, "noise", 12) != mixed_seed(11, "noise", 2)


def test_a_position_is_a_random_state():
    first, again = generator(5, "noise", 1, 2), generator(5, "noise", 1, 2)
    assert torch.equal(torch.rand(4, generator=first), torch.rand(4, generator=again))
    assert not torch.equal(torch.rand(4, generator=generator(5, "noise", 1, 3)), torch.rand(4, generator=again))


def test_the_stream_does_not_change_between_versions():
    """Checkpoints depend on it; `printf noise:0:0:0 | b2sum -l 64` gives the same bytes."""
    assert mixed_seed(0, "noise", 0, 0).to_bytes(8, "little").hex() == "96a2cd65f5934e27"


def test_orders_are_permutations_that_differ_by_epoch():
    first, second = epoch_order(0, 0, 100), epoch_order(0, 1, 100)
    assert sorted(first) == sorted(second) == list(range(100))
    assert (first != second).any()
    assert (first == epoch_order(0, 0, 100)).all()
