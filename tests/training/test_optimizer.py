from __future__ import annotations

import pytest
import torch
from torch import nn

from sidrec.training.optimizer import Optimizer, learning_rate
from sidrec.training.options import TrainingOptions
from sidrec.training.precision import Precision

FP32 = Precision("fp32", torch.device("cpu"))


def test_rate_rises_over_the_warm_up_and_falls_along_a_cosine():
    options = TrainingOptions(learning_rate=1.0, warmup=0.2)
    rates = [learning_rate(options, step, 10) for step in range(10)]
    assert rates[:3] == pytest.approx([0.5, 1.0, 1.0])
    assert rates[6] == pytest.approx(0.5)  # half way down
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert 0 < rates[-1] < 0.05


def test_constant_rate_and_full_warm_up():
    level = TrainingOptions(learning_rate=2.0, schedule="constant", warmup=0.0)
    assert [learning_rate(level, step, 3) for step in range(3)] == [2.0, 2.0, 2.0]
    rising = TrainingOptions(learning_rate=1.0, warmup=1.0)
    assert [learning_rate(rising, step, 4) for step in range(4)] == [0.25, 0.5, 0.75, 1.0]


def test_weight_decay_spares_biases_and_norms():
    module = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(1.0)
    options = TrainingOptions(learning_rate=0.1, warmup=0.0, schedule="constant", weight_decay=0.5)
    optimizer = Optimizer(module, options, 10, FP32)
    optimizer.begin(0)
    for parameter in module.parameters():
        parameter.grad = torch.zeros_like(parameter)
    assert optimizer.move() == 0.0
    assert module[0].weight.tolist() == [[pytest.approx(0.95)] * 2] * 2
    for parameter in (module[0].bias, module[1].weight, module[1].bias):
        assert parameter.tolist() == [1.0, 1.0]


def test_frozen_parameters_are_left_out():
    module = nn.Linear(2, 2)
    module.bias.requires_grad_(False)
    assert len(Optimizer(module, TrainingOptions(), 10, FP32).parameters) == 1


def test_the_gradient_is_clipped_and_its_full_norm_told():
    module = nn.Linear(2, 1, bias=False)
    optimizer = Optimizer(module, TrainingOptions(clip_norm=1.0), 10, FP32)
    optimizer.begin(0)
    module.weight.grad = torch.tensor([[3.0, 4.0]])
    assert optimizer.move() == pytest.approx(5.0)
    assert module.weight.grad.norm().item() == pytest.approx(1.0, rel=1e-4)


def test_a_gradient_that_is_not_finite_moves_nothing():
    module = nn.Linear(2, 1, bias=False)
    before = module.weight.detach().clone()
    optimizer = Optimizer(module, TrainingOptions(clip_norm=None), 10, FP32)
    optimizer.begin(0)
    module.weight.grad = torch.tensor([[3.0, float("inf")]])
    assert optimizer.move() is None
    assert torch.equal(module.weight, before)


def test_fp16_skips_an_overflow_and_lowers_its_scale():
    module = nn.Linear(2, 1, bias=False)
    before = module.weight.detach().clone()
    optimizer = Optimizer(module, TrainingOptions(), 10, Precision("fp16", torch.device("cpu")))
    optimizer.begin(0)
    optimizer.scaled(module.weight.sum()).backward()
    module.weight.grad[0, 0] = float("inf")
    scale = optimizer.scale()["scale"]
    assert optimizer.move() == 0.0
    assert optimizer.scale()["scale"] == scale / 2
    assert torch.equal(module.weight, before)
