"""Products by oneDNN against `F.linear`, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from sidrec.nn import products
from sidrec.nn.products import across, linear, times


@pytest.fixture(autouse=True, params=["AMD EPYC", "Intel Xeon"])
def processor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Both libraries are right on every processor; which is quicker depends on its maker."""
    monkeypatch.setattr(products, "_processor", lambda: request.param)
    products._onednn_multiplies.cache_clear()
    yield request.param
    products._onednn_multiplies.cache_clear()


def drawn(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def both_ways(function: Callable[[Tensor, Tensor], Tensor], rows: Tensor, weight: Tensor) -> list[Tensor | None]:
    """The product, and the gradients of one weighted sum of it."""
    given = [x.clone().requires_grad_() for x in (rows, weight)]
    product = function(*given)
    (product * drawn(5, *product.shape)).sum().backward()
    return [product.detach(), *(x.grad for x in given)]


@pytest.mark.parametrize("n_rows", [1, 63, 64, 200])  # below, at and above a round number
@pytest.mark.parametrize(("n_in", "n_out"), [(8, 24), (24, 8), (8, 8)])
def test_product_and_gradients_are_those_of_linear(n_rows: int, n_in: int, n_out: int) -> None:
    rows, weight = drawn(1, n_rows, n_in), drawn(2, n_out, n_in)
    torch.testing.assert_close(both_ways(linear, rows, weight), both_ways(F.linear, rows, weight), rtol=1e-5, atol=1e-5)


def test_views_are_taken_as_they_are() -> None:
    """Rows out of wider ones, and a gradient that is one number seen many times."""
    wide, weight = drawn(1, 70, 12), drawn(2, 5, 6)
    found = []
    for function in (linear, F.linear):
        given = wide.clone().requires_grad_()
        function(given[:, 3:9], weight).sum().backward()
        found.append(given.grad)
    torch.testing.assert_close(*found)


def test_only_what_learns_has_a_gradient() -> None:
    rows, weight = drawn(1, 3, 4), drawn(2, 5, 4).requires_grad_()
    linear(rows, weight).sum().backward()
    assert rows.grad is None and weight.grad is not None
    torch.testing.assert_close(weight.grad, rows.sum(0).expand(5, 4))


def test_without_gradients_it_is_linear_to_the_bit() -> None:
    rows, weight = drawn(1, 100, 96), drawn(2, 40, 96)
    with torch.no_grad():
        assert torch.equal(linear(rows, weight), F.linear(rows, weight))


@pytest.mark.parametrize("shape", [(0, 4), (2, 3, 4), (2, 3, 5, 4)], ids=["no rows", "sequences", "beams"])
def test_rows_of_every_shape(shape: tuple[int, ...]) -> None:
    rows, weight = drawn(1, *shape), drawn(2, 5, 4)
    torch.testing.assert_close(both_ways(linear, rows, weight), both_ways(F.linear, rows, weight))


def test_autocast_is_obeyed() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(drawn(1, 3, 4), drawn(2, 5, 4).requires_grad_()).dtype == torch.bfloat16


@pytest.mark.parametrize("shape", [(5, 3), (0, 3), (70, 130)])
def test_products_without_gradients(shape: tuple[int, int]) -> None:
    a, b, c = drawn(1, *shape), drawn(2, 9, shape[1]), drawn(3, shape[0], 4)
    torch.testing.assert_close(times(a, b), a @ b.T, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(across(a, c), a.T @ c, rtol=1e-5, atol=1e-4)


def test_each_processor_has_its_library(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_onednn = []

    def counted(a: Tensor, b: Tensor) -> Tensor:
        by_onednn.append(a.shape)
        return a @ b.mT

    monkeypatch.setattr(products, "_times", counted)
    both_ways(linear, drawn(1, 3, 4), drawn(2, 5, 4))
    assert bool(by_onednn) == ("AMD" in processor)


def test_a_torch_without_the_operation_goes_the_plain_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Tensor) -> Tensor:
        raise AttributeError("no such operation")

    monkeypatch.setattr(products, "_times", gone)
    rows, weight = drawn(1, 3, 4), drawn(2, 5, 4)
    torch.testing.assert_close(both_ways(linear, rows, weight), both_ways(F.linear, rows, weight))
