"""The quick row functions against the plain formulas, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from sidrec.nn.row_functions import gated, noise, normalised, take_once


def both_ways(function: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    """The result, and the gradient of one weighted sum of it."""
    x = x.clone().requires_grad_()
    found = function(x)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(5))
    (found * weights).sum().backward()
    assert x.grad is not None
    return found.detach(), x.grad


def rows(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def test_normalised_rows_are_an_rms_norm_without_gains() -> None:
    torch.testing.assert_close(
        both_ways(lambda x: normalised(x, 1e-6), rows(7, 12)),
        both_ways(lambda x: F.rms_norm(x, (12,), eps=1e-6), rows(7, 12)),
    )


def test_a_row_of_zeros_stays_one() -> None:
    found, gradient = both_ways(lambda x: normalised(x, 1e-6), torch.zeros(1, 4))
    assert found.tolist() == [[0.0] * 4] and bool(gradient.isfinite().all())


def test_gated_is_the_plain_formula() -> None:
    def plain(x: Tensor) -> Tensor:
        gate, up = x.chunk(2, dim=-1)
        return F.silu(gate) * up

    torch.testing.assert_close(both_ways(gated, rows(5, 12)), both_ways(plain, rows(5, 12)))


def test_rows_taken_once_give_their_gradients_back() -> None:
    chosen = torch.tensor([4, 0, 3])
    torch.testing.assert_close(
        both_ways(lambda x: take_once(x, chosen), rows(6, 3)), both_ways(lambda x: x[chosen], rows(6, 3))
    )


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
def test_noise_drops_its_share_and_keeps_the_mean(share: float) -> None:
    torch.manual_seed(0)
    drawn = noise(torch.empty(401, 501), share)
    assert drawn.shape == (401, 501) and len(drawn.unique()) == 2
    assert (drawn == 0).float().mean().item() == pytest.approx(share, abs=0.004)  # about four standard deviations
    assert drawn.max().item() == pytest.approx(1 / (1 - share), rel=1e-4)
    assert drawn.mean(0).std().item() == pytest.approx((share / (1 - share) / 401) ** 0.5, rel=0.15)  # draws apart


def test_noise_comes_from_the_global_generator() -> None:
    drawn = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        drawn.append(noise(torch.empty(64), 0.5))
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
