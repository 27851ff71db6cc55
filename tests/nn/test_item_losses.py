from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from reference.item_losses import bce_by_hand, bpr_max_by_hand
from sidrec.nn.item_losses import (
    Bonus,
    binary_cross_entropy,
    bpr_max,
    contrastive_loss,
    cross_entropy,
    ragged_cross_entropy,
    sampled_cross_entropy,
)


def case(places: int = 7, n_items: int = 11, width: int = 4) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(3)
    hidden = torch.randn(places, width, generator=draw, requires_grad=True)
    table = torch.randn(n_items, width, generator=draw, requires_grad=True)
    return hidden, table, torch.randint(n_items, (places,), generator=draw)


def test_equal_scores_cost_the_log_of_the_catalogue():
    loss = cross_entropy(torch.zeros(3, 2), torch.randn(8, 2), torch.tensor([0, 5, 7]))
    assert float(loss) == pytest.approx(3 * math.log(8))


@pytest.mark.parametrize("max_logits", [1, 25, 10_000])
def test_pieces_give_the_loss_and_gradients_of_the_whole(max_logits):
    hidden, table, targets = case()
    ours = torch.autograd.grad(0.3 * cross_entropy(hidden, table, targets, max_logits), (hidden, table))
    whole = 0.3 * F.cross_entropy(hidden @ table.T, targets, reduction="sum")
    for mine, expected in zip(ours, torch.autograd.grad(whole, (hidden, table)), strict=True):
        torch.testing.assert_close(mine, expected)
    torch.testing.assert_close(0.3 * cross_entropy(hidden, table, targets, max_logits), whole)


def test_huge_scores_stay_finite():
    loss = cross_entropy(torch.tensor([[1e4]]), torch.tensor([[1.0], [-1.0]]), torch.tensor([1]))
    assert float(loss) == pytest.approx(2e4)


def test_half_precision_hidden_vectors_get_gradients_of_their_kind():
    hidden, table, targets = case()
    half = hidden.detach().bfloat16().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = cross_entropy(half, table, targets)
    loss.backward()
    assert loss.dtype == torch.float32
    assert half.grad is not None
    assert half.grad.dtype == torch.bfloat16


def test_binary_loss_is_the_one_by_hand():
    hidden, table, targets = case()
    negatives = (targets + 1) % len(table)
    expected = bce_by_hand(hidden, table, targets, negatives)
    torch.testing.assert_close(binary_cross_entropy(hidden, table, targets, negatives), expected)


def test_bpr_max_is_the_one_by_hand_and_skips_the_target():
    hidden, table, targets = case()
    negatives = torch.tensor([int(targets[0]), 2, 9, int(targets[1])])
    expected = bpr_max_by_hand(hidden, table, targets, negatives, 0.7)
    torch.testing.assert_close(bpr_max(hidden, table, targets, negatives, 0.7), expected)


def test_bpr_max_survives_a_draw_of_nothing_but_the_target():
    hidden, table, _ = case(places=1)
    loss = bpr_max(hidden, table, torch.tensor([4]), torch.tensor([4, 4]), 0.0)
    assert torch.isfinite(loss)


@pytest.mark.parametrize("max_logits", [1, 25, 10_000])
def test_a_bonus_is_added_to_its_columns_and_gets_its_gradient(max_logits):
    hidden, table, targets = case()
    columns = torch.tensor([[0, 3, -1]]).repeat(len(targets), 1)
    values = torch.randn(len(targets), 3, requires_grad=True)
    dense = torch.zeros(len(targets), len(table)).scatter_add(1, columns[:, :2], values[:, :2])
    whole = F.cross_entropy(hidden @ table.T + dense, targets, reduction="sum")
    ours = cross_entropy(hidden, table, targets, max_logits, Bonus(columns, values))
    torch.testing.assert_close(ours, whole)
    wanted = (hidden, table, values)
    for mine, expected in zip(torch.autograd.grad(ours, wanted), torch.autograd.grad(whole, wanted), strict=True):
        torch.testing.assert_close(mine, expected)


def test_a_bonus_reaches_positives_and_negatives():
    hidden, table, targets = case()
    negatives = torch.tensor([2, 9])
    zero = torch.zeros(len(targets), 3)
    same = bpr_max(hidden, table, targets, negatives, 0.5, zero)
    torch.testing.assert_close(same, bpr_max(hidden, table, targets, negatives, 0.5))
    lifted = zero.clone()
    lifted[:, 0] = 5.0
    assert bpr_max(hidden, table, targets, negatives, 0.0, lifted) < bpr_max(hidden, table, targets, negatives, 0.0)
    pairs = torch.tensor([[5.0, -5.0]]).repeat(len(targets), 1)
    better = binary_cross_entropy(hidden, table, targets, (targets + 1) % 11, pairs)
    assert better < binary_cross_entropy(hidden, table, targets, (targets + 1) % 11)


def test_ragged_lists_are_softmaxes_of_their_own():
    scores = torch.tensor([1.0, 2.0, 0.5, 3.0, 1.0], requires_grad=True)
    loss = ragged_cross_entropy(scores, torch.tensor([0, 0, 2, 2, 2]), torch.tensor([0, 1, 0, 0, 1]).bool())
    expected = -torch.log_softmax(scores[:2], 0)[1] - torch.log_softmax(scores[2:], 0)[2]
    torch.testing.assert_close(loss, expected)
    assert float(ragged_cross_entropy(scores.detach()[:0], torch.empty(0).long(), torch.empty(0).bool())) == 0.0


def test_a_sample_of_everything_is_the_full_softmax():
    hidden, table, targets = case()
    everything = torch.arange(len(table))
    columns, values = torch.tensor([[3, 4]]).repeat(7, 1), torch.ones(7, 2)
    own_bonus = ((targets == 3) | (targets == 4)).float()
    loss = sampled_cross_entropy(
        hidden,
        table[targets],
        table,
        torch.zeros(len(table)),
        everything == targets[:, None],
        (columns, values),
        own_bonus,
    )
    torch.testing.assert_close(loss, cross_entropy(hidden, table, targets, bonus=Bonus(columns, values)))


def test_the_contrastive_loss_by_hand():
    hidden = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    own = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    targets = torch.tensor([5, 5, 7])  # the first two want the same item, which is no rival to itself
    logits = [[1.0, 0.0], [0.0, 2.0], [2.0, 1.0, 1.0]]  # own first
    by_hand = sum(float(torch.tensor(row).logsumexp(0)) - row[0] for row in logits)
    torch.testing.assert_close(contrastive_loss(hidden, own, targets), torch.tensor(by_hand))
    more = contrastive_loss(hidden, own, targets, others=torch.tensor([[3.0, 0.0]]))
    with_other = [[1.0, 0.0, 3.0], [0.0, 2.0, 0.0], [2.0, 1.0, 1.0, 3.0]]
    by_hand = sum(float(torch.tensor(row).logsumexp(0)) - row[0] for row in with_other)
    torch.testing.assert_close(more, torch.tensor(by_hand))
