"""Both ways of attending to packed sequences against each other, forwards and backwards."""

from __future__ import annotations

import torch
from torch import Tensor

from sidrec.nn.packed_attention import Stretch, _plain, all_read, attend

CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()
STRETCHES = [Stretch(2, 3, 3), Stretch(1, 4, 1), Stretch(3, 4, 2, CAUSAL), Stretch(1, 1, 1)]


def both(function, *given: Tensor) -> list[Tensor]:
    inputs = [x.clone().requires_grad_() for x in given]
    found = function(*inputs)
    (found * torch.randn(found.shape, generator=torch.Generator().manual_seed(3))).sum().backward()
    return [found.detach(), *(x.grad for x in inputs)]


def test_kernels_written_in_place_equal_the_plain_call() -> None:
    q, seen = torch.randn(14, 8), torch.randn(23, 16)
    ours = both(lambda q, seen: attend(q, seen, STRETCHES, 2), q, seen)
    theirs = both(lambda q, seen: _plain(q, seen, STRETCHES, 2, 0.0), q, seen)
    for mine, wanted in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, wanted, rtol=1e-4, atol=1e-5)


def test_alike_neighbours_become_one() -> None:
    every = all_read([Stretch(2, 3, 1), Stretch(1, 3, 3), Stretch(1, 4, 1), Stretch(1, 4, 2, CAUSAL)])
    assert [(s.count, s.length, s.n_read) for s in every] == [(3, 3, 3), (1, 4, 4), (1, 4, 4)]


def test_read_rows_are_the_last_of_each_sequence() -> None:
    assert Stretch(2, 3, 2).read_rows(10, torch.device("cpu")).tolist() == [11, 12, 14, 15]
