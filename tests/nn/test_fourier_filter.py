from __future__ import annotations

import pytest
import torch

from reference.circular_convolution import circular_convolution
from sidrec.nn.fourier_filter import FourierFilter


@pytest.mark.parametrize("length", [1, 2, 7, 20])
def test_the_filter_is_a_circular_convolution(length):
    torch.manual_seed(length)
    layer = FourierFilter(length, d_model=3, scale=1.0)
    inputs = torch.randn(2, length, 3)
    expected = circular_convolution(inputs, layer.kernel().detach())
    torch.testing.assert_close(layer(inputs).detach(), expected, rtol=1e-4, atol=1e-5)


def test_a_response_of_one_changes_nothing():
    layer = FourierFilter(6, d_model=2)
    with torch.no_grad():
        layer.response.copy_(torch.tensor([1.0, 0.0]).expand_as(layer.response))
    inputs = torch.randn(4, 6, 2)
    torch.testing.assert_close(layer(inputs), inputs)


def test_only_the_constant_frequency_leaves_the_mean():
    layer = FourierFilter(4, d_model=1)
    with torch.no_grad():
        layer.response.zero_()
        layer.response[0, 0, 0] = 1.0
    out = layer(torch.tensor([1.0, 2.0, 3.0, 6.0]).view(1, 4, 1))
    torch.testing.assert_close(out.flatten(), torch.full((4,), 3.0))
