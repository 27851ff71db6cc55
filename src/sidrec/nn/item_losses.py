"""Losses over a catalogue: each takes vectors (places, d_model) and the item table (n_items, d_model), and sums."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

MAX_LOGITS = 2**22
"""Numbers of the places x items matrix that may be alive at once (16 MB), whatever the size of the catalogue."""


def cross_entropy(hidden: Tensor, table: Tensor, targets: Tensor, max_logits: int = MAX_LOGITS) -> Tensor:
    """-sum log softmax(hidden table^T)[target] over the full catalogue, without ever holding all logits."""
    loss: Tensor = _CrossEntropy.apply(hidden, table, targets, max_logits)  # type: ignore[no-untyped-call]
    return loss


class _CrossEntropy(torch.autograd.Function):
    """Takes the gradient of each piece of logits while it is still there, so nothing is kept and nothing recomputed."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, table: Tensor, targets: Tensor, max_logits: int) -> Tensor:
        with torch.autocast(hidden.device.type, enabled=False):
            wanted = any(ctx.needs_input_grad[:2])
            rows = hidden.float()
            d_hidden = torch.empty_like(rows) if wanted else None
            d_table = torch.zeros_like(table) if wanted else None
            loss = rows.new_zeros(())
            step = max(1, max_logits // len(table))
            for start in range(0, len(rows), step):
                piece = slice(start, start + step)
                logits = rows[piece] @ table.T  # (piece, n_items)
                target = targets[piece].unsqueeze(-1)
                logits -= logits.amax(-1, keepdim=True)
                picked = logits.gather(-1, target)
                total = logits.exp_().sum(-1, keepdim=True)
                loss += (total.log() - picked).sum()
                if d_hidden is not None and d_table is not None:
                    slope = logits.div_(total).scatter_add_(-1, target, -torch.ones_like(picked))
                    torch.mm(slope, table, out=d_hidden[piece])
                    d_table.addmm_(slope.T, rows[piece])
            if d_hidden is not None:
                ctx.save_for_backward(d_hidden.to(hidden.dtype), d_table)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        d_hidden, d_table = ctx.saved_tensors
        return d_hidden * grads[0].to(d_hidden.dtype), d_table * grads[0], None, None


def binary_cross_entropy(hidden: Tensor, table: Tensor, targets: Tensor, negatives: Tensor) -> Tensor:
    """-sum log sigmoid(target) + log sigmoid(-negative), one negative per place."""
    positive = (hidden * F.embedding(targets, table)).sum(-1)
    negative = (hidden * F.embedding(negatives, table)).sum(-1)
    return -(F.logsigmoid(positive) + F.logsigmoid(-negative)).sum()


def bpr_max(hidden: Tensor, table: Tensor, targets: Tensor, negatives: Tensor, regularization: float) -> Tensor:
    """GRU4Rec's BPR-max: the target against the negatives (shared by all places), each weighted by its softmax.

    -log sum_j s_j sigmoid(r_target - r_j) + regularization * sum_j s_j r_j^2; a negative that is the target counts
    nothing.
    """
    positive = (hidden * F.embedding(targets, table)).sum(-1, keepdim=True)
    scores = hidden @ F.embedding(negatives, table).T  # (places, n_negatives)
    own = negatives.unsqueeze(0) == targets.unsqueeze(1)
    # a floor instead of -inf: a place whose every negative is its own target then gets equal weights, not NaN
    weights = scores.masked_fill(own, -1e9).softmax(-1)
    better = torch.log((weights * torch.sigmoid(positive - scores)).sum(-1) + 1e-24)
    return (-better + regularization * (weights * scores**2).sum(-1)).sum()
