"""Losses over a catalogue: each takes vectors (places, d_model) and the item table (n_items, d_model), and sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from sidrec.nn.products import across, times

MAX_LOGITS = 2**22
"""Numbers of the places x items matrix that may be alive at once (16 MB), whatever the size of the catalogue."""


class Bonus(NamedTuple):
    """What single items gain at a place: `values` are added to the scores of `columns`, nothing where that is -1."""

    columns: Tensor  # (places, n)
    values: Tensor  # (places, n)


def cross_entropy(
    hidden: Tensor, table: Tensor, targets: Tensor, max_logits: int = MAX_LOGITS, bonus: Bonus | None = None
) -> Tensor:
    """-sum log softmax(hidden table^T + bonus)[target] over the full catalogue, without ever holding all logits."""
    columns, values = (None, None) if bonus is None else _harmless(bonus)
    loss: Tensor = _CrossEntropy.apply(hidden, table, targets, max_logits, columns, values)  # type: ignore[no-untyped-call]
    return loss


def _harmless(bonus: Bonus) -> Bonus:
    """Places without a column add 0 to column 0."""
    return Bonus(bonus.columns.clamp_min(0), torch.where(bonus.columns >= 0, bonus.values, 0.0).float())


class _CrossEntropy(torch.autograd.Function):
    """Takes the gradient of each piece of logits while it is still there, so nothing is kept and nothing recomputed."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        table: Tensor,
        targets: Tensor,
        max_logits: int,
        columns: Tensor | None,
        values: Tensor | None,
    ) -> Tensor:
        with torch.autocast(hidden.device.type, enabled=False):
            wanted = any(ctx.needs_input_grad[:2])
            rows = hidden.float()
            d_hidden = torch.empty_like(rows) if wanted else None
            d_table = torch.zeros_like(table) if wanted else None
            d_values = torch.zeros_like(values) if values is not None else None
            loss = rows.new_zeros(())
            step = max(1, max_logits // len(table))
            for start in range(0, len(rows), step):
                piece = slice(start, start + step)
                logits = times(rows[piece], table)  # (piece, n_items)
                target = targets[piece].unsqueeze(-1)
                if columns is not None and values is not None:
                    logits.scatter_add_(-1, columns[piece], values[piece])
                logits -= logits.amax(-1, keepdim=True)
                picked = logits.gather(-1, target)
                total = logits.exp_().sum(-1, keepdim=True)
                loss += (total.log() - picked).sum()
                if d_hidden is not None and d_table is not None:
                    slope = logits.div_(total).scatter_add_(-1, target, -torch.ones_like(picked))
                    d_hidden[piece] = times(slope, table.mT)
                    d_table += across(slope, rows[piece])
                    if columns is not None and d_values is not None:
                        torch.gather(slope, -1, columns[piece], out=d_values[piece])
            if d_hidden is not None:
                ctx.save_for_backward(d_hidden.to(hidden.dtype), d_table, d_values)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        d_hidden, d_table, d_values = ctx.saved_tensors
        by_value = None if d_values is None else d_values * grads[0]
        return d_hidden * grads[0].to(d_hidden.dtype), d_table * grads[0], None, None, None, by_value


def ragged_cross_entropy(scores: Tensor, rows: Tensor, right: Tensor) -> Tensor:
    """-sum log softmax over lists of candidates: flat scores, the list each belongs to, and which one is right."""
    n = int(rows.max()) + 1 if len(rows) else 0
    top = scores.new_full((n,), -torch.inf).scatter_reduce(0, rows, scores.detach(), "amax")
    total = scores.new_zeros(n).index_add(0, rows, (scores - top[rows]).exp())
    return (total[rows[right]].log() + top[rows[right]] - scores[right]).sum()


def sampled_cross_entropy(
    hidden: Tensor,
    own: Tensor,
    sampled: Tensor,
    log_chance: Tensor,
    hits: Tensor,
    bonus: tuple[Tensor, Tensor] | None = None,
    own_bonus: Tensor | None = None,
) -> Tensor:
    """-sum log softmax with the catalogue's sum estimated from a sample, each item weighted by 1 / its chance.

    `own` (places, d_model) are the targets' vectors, which always count; `hits` (places, n) marks targets in the
    sample, which then do not count twice; `bonus` adds values to columns of the sample, `own_bonus` to the targets.
    """
    right = (hidden * own).sum(-1)
    right = right if own_bonus is None else right + own_bonus
    logits = hidden @ sampled.T - log_chance
    logits = logits if bonus is None else logits.scatter_add(-1, *bonus)
    logits = logits.masked_fill(hits, -torch.inf)
    return (torch.cat([right[:, None], logits], 1).logsumexp(-1) - right).sum()


def contrastive_loss(hidden: Tensor, own: Tensor, targets: Tensor, others: Tensor | None = None) -> Tensor:
    """-sum log softmax of each place's target among the targets of all places, and `others` (n, d_model).

    `own` (places, d_model) are the targets' vectors; the same target at another place is no negative.
    """
    logits = hidden @ own.T
    same = (targets[:, None] == targets).fill_diagonal_(False)
    logits = logits.masked_fill(same, -torch.inf)
    rivals = logits if others is None else torch.cat([logits, hidden @ others.T], 1)
    return (rivals.logsumexp(-1) - logits.diagonal()).sum()


def binary_cross_entropy(
    hidden: Tensor, table: Tensor, targets: Tensor, negatives: Tensor, bonus: Tensor | None = None
) -> Tensor:
    """-sum log sigmoid(target) + log sigmoid(-negative), one negative per place; `bonus` (places, 2) is for both."""
    positive = (hidden * F.embedding(targets, table)).sum(-1)
    negative = (hidden * F.embedding(negatives, table)).sum(-1)
    if bonus is not None:
        positive, negative = positive + bonus[:, 0], negative + bonus[:, 1]
    return -(F.logsigmoid(positive) + F.logsigmoid(-negative)).sum()


def bpr_max(
    hidden: Tensor,
    table: Tensor,
    targets: Tensor,
    negatives: Tensor,
    regularization: float,
    bonus: Tensor | None = None,
) -> Tensor:
    """GRU4Rec's BPR-max: the target against the negatives (shared by all places), each weighted by its softmax.

    -log sum_j s_j sigmoid(r_target - r_j) + regularization * sum_j s_j r_j^2; a negative that is the target counts
    nothing. `bonus` (places, 1 + n_negatives) is added to the scores of target and negatives.
    """
    positive = (hidden * F.embedding(targets, table)).sum(-1, keepdim=True)
    scores = hidden @ F.embedding(negatives, table).T  # (places, n_negatives)
    if bonus is not None:
        positive, scores = positive + bonus[:, :1], scores + bonus[:, 1:]
    own = negatives.unsqueeze(0) == targets.unsqueeze(1)
    # a floor instead of -inf: a place whose every negative is its own target then gets equal weights, not NaN
    weights = scores.masked_fill(own, -1e9).softmax(-1)
    better = torch.log((weights * torch.sigmoid(positive - scores)).sum(-1) + 1e-24)
    return (-better + regularization * (weights * scores**2).sum(-1)).sum()
