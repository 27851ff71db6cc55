from __future__ import annotations

import pytest
import torch

from sidrec.nn.mlp import mlp


def test_known_answer():
    net = mlp([1, 2, 1])
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[1.0], [-1.0]]))
        net[2].weight.copy_(torch.tensor([[3.0, 5.0]]))
        for linear in (net[0], net[2]):
            linear.bias.zero_()
    # 3 relu(x) + 5 relu(-x)
    assert net(torch.tensor([[2.0], [-2.0]])).flatten().tolist() == [6.0, 10.0]


@pytest.mark.parametrize("activation", ["relu", "silu", "gelu"])
def test_nothing_follows_the_last_layer(activation):
    net = mlp([3, 5, 4, 2], activation, dropout=0.1)
    assert [type(layer).__name__ for layer in net][-1] == "Linear"
    assert sum(isinstance(layer, torch.nn.Dropout) for layer in net) == 2
    assert len(mlp([3, 2])) == 1
