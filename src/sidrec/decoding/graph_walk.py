"""Graph-constrained decoding: from items that have likely codes, step by step to the best of their neighbours.

An item's score is the sum of the log-probabilities of its codes. What a walk costs depends on its width, its steps and
the edges of the graph, not on how many items there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from sidrec.decoding.item_graph import ItemGraph
from sidrec.decoding.permits import Permits
from sidrec.decoding.top_k import NEVER, first_best


@dataclass(frozen=True)
class WalkPlan:
    """How wide and how far a walk goes."""

    k: int
    beam_size: int
    """Best items that are remembered (B), at least k."""
    n_steps: int
    """Most steps; a walk that finds nothing new ends before."""
    expanded: int
    """Remembered items whose neighbours are looked at in one step."""
    likely_codes: int
    """Codes of every slot through whose doors a walk begins."""


@dataclass(frozen=True)
class Pool:
    """The best items seen, each once; -1 where there are fewer."""

    items: Tensor  # (users, width)
    scores: Tensor  # (users, width)
    open: Tensor  # (users, width) bool: neighbours not looked at yet

    @classmethod
    def empty(cls, n_users: int, like: Tensor) -> Pool:
        none = torch.empty(n_users, 0, dtype=torch.int64, device=like.device)
        return cls(none, like.new_empty(n_users, 0), none.bool())

    def joined(self, items: Tensor, scores: Tensor, width: int) -> Pool:
        """With more items; of those seen twice the one that is already here stays. Ties go to the lower item."""
        every = torch.cat([self.items, items], 1)
        values = torch.cat([self.scores, scores], 1)
        unseen = torch.cat([self.open, torch.ones_like(items, dtype=torch.bool)], 1)
        every, order = every.sort(stable=True, dim=1)
        values, unseen = values.gather(1, order), unseen.gather(1, order)
        again = torch.zeros_like(unseen)
        again[:, 1:] = every[:, 1:] == every[:, :-1]
        best, columns = first_best(values.masked_fill(again | (every < 0), NEVER), min(width, every.shape[1]))
        found = best > NEVER
        return Pool(every.gather(1, columns).masked_fill(~found, -1), best, unseen.gather(1, columns) & found)

    def first(self, k: int) -> tuple[Tensor, Tensor]:
        """The k best items and their scores; -1 and -inf where there are fewer."""
        missing = (0, max(k - self.items.shape[1], 0))
        return F.pad(self.items[:, :k], missing, value=-1), F.pad(self.scores[:, :k], missing, value=NEVER)

    def expand(self, n: int) -> tuple[Tensor, Pool]:
        """The best n open items (-1 where there are fewer), and the pool with them closed."""
        best, columns = self.scores.masked_fill(~self.open, NEVER).topk(min(n, self.scores.shape[1]), dim=1)
        chosen = self.items.gather(1, columns).masked_fill(best == NEVER, -1)
        return chosen, Pool(self.items, self.scores, self.open.scatter(1, columns, False))


def walk(log_probs: Tensor, graph: ItemGraph, plan: WalkPlan, permits: Permits | None = None) -> tuple[Tensor, Tensor]:
    """The k best items found for each user (users, k) and their scores, from log-probabilities (users, n_codes, K).

    -1 and -inf fill ranks for which nothing was found. Items that are not permitted are walked through, never returned.
    """
    width = max(plan.beam_size, plan.k)
    seen = doors_of(log_probs, graph, plan.likely_codes)
    pools = [Pool.empty(len(log_probs), log_probs) for _ in range(1 if permits is None else 2)]
    for _ in range(plan.n_steps):
        pools = _looked_at(pools, seen, log_probs, graph, permits, width)
        opened = [pool.expand(plan.expanded) for pool in pools]
        pools, chosen = [pool for _, pool in opened], torch.cat([items for items, _ in opened], 1)
        if not bool((chosen >= 0).any()):
            break
        seen = graph.neighbours[chosen.clamp_min(0)].masked_fill((chosen < 0).unsqueeze(-1), -1).flatten(1)
    else:
        pools = _looked_at(pools, seen, log_probs, graph, permits, width)
    return pools[-1].first(plan.k)


def best_of(log_probs: Tensor, graph: ItemGraph, items: Tensor, k: int, permits: Permits) -> tuple[Tensor, Tensor]:
    """The same without a walk, of some items (n,) that are all looked at: exact."""
    every = items.expand(len(log_probs), -1)
    pools = [Pool.empty(len(log_probs), log_probs)] * 2
    return _looked_at(pools, every, log_probs, graph, permits, k)[1].first(k)


def doors_of(log_probs: Tensor, graph: ItemGraph, n_likely: int) -> Tensor:
    """Items behind the likeliest codes of every slot: (users, n), -1 where a code has fewer doors than others."""
    likely = log_probs.topk(min(n_likely, log_probs.shape[-1])).indices  # (users, n_codes, n_likely)
    slots = torch.arange(likely.shape[1], device=likely.device).view(1, -1, 1)
    return graph.doors[slots, likely].flatten(1)


def _looked_at(
    pools: list[Pool], items: Tensor, log_probs: Tensor, graph: ItemGraph, permits: Permits | None, width: int
) -> list[Pool]:
    """Scores new items into the pool of all; the second pool, where there is one, takes what is permitted."""
    scores = summed(log_probs, graph.codes[items.clamp_min(0)])
    joined = [pools[0].joined(items, scores, width)]
    if permits is not None:
        joined.append(pools[1].joined(items.masked_fill(~permits(items), -1), scores, width))
    return joined


def summed(log_probs: Tensor, codes: Tensor) -> Tensor:
    """Scores (users, n) of IDs (users, n, n_codes)."""
    n_codes, n_values = log_probs.shape[1:]
    columns = codes + torch.arange(n_codes, device=codes.device) * n_values
    return log_probs.flatten(1).gather(1, columns.flatten(1)).view(codes.shape).sum(-1)
