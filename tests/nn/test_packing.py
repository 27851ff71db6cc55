"""Packed sequences go through a Transformer as each would alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sidrec.nn.packed_attention import Stretch
from sidrec.nn.packing import packed_forward
from sidrec.nn.transformer import Transformer

D = 8


def lively_stack(dropout: float = 0.0, attention_dropout: float = 0.0) -> Transformer:
    torch.manual_seed(1)
    stack = Transformer(3, D, n_heads=2, d_ff=12, dropout=dropout, attention_dropout=attention_dropout)
    for parameter in stack.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return stack


def alone(stack: Transformer, x: Tensor, stretches: list[Stretch]) -> Tensor:
    """Every row of every sequence, one sequence at a time."""
    found, first = [], 0
    for stretch in stretches:
        for _ in range(stretch.count):
            found.append(stack(x[None, first : first + stretch.length], stretch.mask)[0])
            first += stretch.length
    return torch.cat(found)


STRETCHES = [
    Stretch(2, 3, n_read=3),
    Stretch(1, 4, n_read=1),
    Stretch(3, 4, n_read=2, mask=torch.ones(4, 4, dtype=torch.bool).tril()),
    Stretch(1, 1, n_read=1),
]
WANTED = torch.tensor([5, 1, 9, 17, 22, 12])  # rows 0..5 are read, 9, then two of each four, then the last


@pytest.mark.parametrize("training", [False, True])
def test_packed_rows_equal_sequences_alone(training: bool) -> None:
    stack = lively_stack().train(training)
    x = torch.randn(23, D, generator=torch.Generator().manual_seed(2))
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    packed, plain = packed_forward(stack, ours, STRETCHES, WANTED), alone(stack, theirs, STRETCHES)[WANTED]
    torch.testing.assert_close(packed, plain, rtol=1e-4, atol=1e-5)
    weights = torch.randn(packed.shape, generator=torch.Generator().manual_seed(3))
    gradients = []
    for found, given in ((packed, ours), (plain, theirs)):
        stack.zero_grad()
        (found * weights).sum().backward()
        gradients.append([given.grad, *(p.grad.clone() for p in stack.parameters())])
    for mine, wanted in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, wanted, rtol=1e-4, atol=1e-4)


def test_dropout_acts_in_training_only() -> None:
    stack, x = lively_stack(dropout=0.5, attention_dropout=0.5), torch.randn(23, D)
    quiet = [packed_forward(stack.eval(), x, STRETCHES, WANTED) for _ in range(2)]
    assert torch.equal(*quiet)
    loud = [packed_forward(stack.train(), x, STRETCHES, WANTED) for _ in range(2)]
    assert not torch.allclose(*loud)
