"""The training task the item-ID models share: what a network says of users and items, and what a step costs."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, Self, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sidrec.data.dataset import Cases
from sidrec.data.histories import Histories
from sidrec.decoding.top_k import ScoreRows
from sidrec.models.samples import Samples, left_aligned
from sidrec.nn.item_losses import Bonus, cross_entropy
from sidrec.nn.item_vectors import ItemVectors
from sidrec.nn.repeats import Past, RepeatTerm, past_of
from sidrec.training.batches import length_groups
from sidrec.training.objective import Batch, Losses

METRIC: Literal["ndcg@10"] = "ndcg@10"
_GROUPS = 4
"""Length groups of a step: more would save little padding and pay for every pass."""
_SCORE_CELLS = 2_000_000


class ItemNetwork(nn.Module, ABC):
    """What the scorer needs of a network: users and items as vectors whose dot product is the score.

    Where there is a repeat term, it is added to the scores of the items of the user's history.
    """

    items: ItemVectors
    repeat: RepeatTerm | None
    scores_are_products: ClassVar[bool] = True
    """Whether a score is the product of the query and the item's row of the table, so that a scan finds the best."""

    def __init__(self) -> None:
        super().__init__()
        self.repeat = None

    @abstractmethod
    def queries(self, histories: Tensor) -> Tensor:
        """(users, n) item indices, all of the same length, to (users, d_model)."""

    def item_table(self) -> Tensor:
        """(n_items, d_model)."""
        return self.items.table()

    def scores(self, queries: Tensor, table: Tensor) -> Tensor:
        """Users by items of the table, (users, n)."""
        return queries @ table.T

    def with_items(self, items: ItemVectors) -> Self:
        """The same network, weights shared, over other items."""
        other = copy.copy(self)
        other._modules = {**self._modules, "items": items}
        return other


Network = TypeVar("Network", bound=ItemNetwork)


class ItemObjective(ABC, Generic[Network]):
    """Splits a step into length groups; a model says what one group costs and how many losses a step has."""

    def __init__(self, samples: Samples, validation: Cases, max_history: int) -> None:
        self.samples, self.validation, self.max_history = samples, validation, max_history
        self.n_samples = len(samples)

    @abstractmethod
    def loss(self, network: Network, samples: Histories, noise: tuple[Tensor, ...]) -> Tensor:
        """The summed loss of a group of samples; `noise` holds what `draw` drew for them."""

    def count(self, lengths: NDArray[np.int64]) -> int:
        """How many losses samples of these lengths sum up: by default one for each item after the first."""
        return int((lengths - 1).sum())

    def draw(self, n_rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:  # noqa: ARG002
        """Random numbers of a step, first dimension rows: drawn for all processes alike, then cut."""
        return ()

    def parts(self, module: nn.Module, batch: Batch) -> Iterator[Losses]:
        noise = self.draw(len(batch.rows), batch.generator)
        total = self.count(self.samples.lengths[batch.rows])
        places = np.arange(len(batch.rows))[batch.mine]
        for group in length_groups(self.samples.lengths[batch.rows[places]], max_groups=_GROUPS):
            chosen = places[group]
            own = tuple(part[torch.from_numpy(chosen)] for part in noise)
            loss = self.loss(cast(Network, module), self.samples.take(batch.rows[chosen]), own) / total
            yield Losses(loss, {})

    def validate(self, module: nn.Module) -> dict[str, float]:
        if len(self.validation) == 0:
            return {}
        return {METRIC: mean_ndcg(cast(ItemNetwork, module), self.validation, self.max_history)}

    def after_epoch(self, module: nn.Module, epoch: int, generator: torch.Generator) -> dict[str, float]:  # noqa: ARG002
        return {}


class CausalNetwork(ItemNetwork):
    """A network whose vector at position t knows the items up to t, with one table for input and scoring."""

    @abstractmethod
    def hidden(self, items: Tensor) -> Tensor:
        """(rows, n) item indices to (rows, n, d_model)."""

    def queries(self, histories: Tensor) -> Tensor:
        return self.hidden(histories)[:, -1]


@dataclass(frozen=True)
class Places:
    """Positions that predict: what the network says there, what came next, what was before, the noise drawn."""

    hidden: Tensor  # (places, d_model)
    targets: Tensor  # (places,)
    past: Past | None
    """Only where the network has a repeat term."""
    noise: tuple[Tensor, ...] = ()

    def bonus(self, network: ItemNetwork) -> Bonus | None:
        """What the repeat term adds to the scores of the whole catalogue."""
        if network.repeat is None or self.past is None:
            return None
        return Bonus(self.past.items, network.repeat.of_past(self.past))

    def bonus_of(self, network: ItemNetwork, items: Tensor) -> Tensor | None:
        """What it adds to those of chosen items (places, n)."""
        return None if network.repeat is None or self.past is None else network.repeat.of_items(self.past, items)


Causal = TypeVar("Causal", bound=CausalNetwork)


class NextItemObjective(ItemObjective[Causal]):
    """Every position predicts the item after it: one pass per user learns from all of them."""

    def loss(self, network: Causal, samples: Histories, noise: tuple[Tensor, ...]) -> Tensor:
        items = left_aligned(samples).to(network.items.device)
        real = items[:, 1:] >= 0  # padding is on the right, where no real position sees it
        hidden = network.hidden(items[:, :-1].clamp_min(0))[real]
        past = None if network.repeat is None else past_of(items[:, :-1], real)
        own = tuple(_at_places(part, real) for part in noise)
        return self.place_loss(network, Places(hidden, items[:, 1:][real], past, own))

    def place_loss(self, network: Causal, places: Places) -> Tensor:
        """The summed loss of positions with their targets; by default over the full catalogue."""
        return cross_entropy(places.hidden, network.item_table(), places.targets, bonus=places.bonus(network))


def bonus_before(network: ItemNetwork, items: Tensor) -> Bonus | None:
    """The repeat term for the last of (rows, n + 1) items, -1 on the left, by the items before it."""
    if network.repeat is None:
        return None
    last = torch.zeros_like(items[:, 1:], dtype=torch.bool)
    last[:, -1] = True
    past = past_of(items[:, :-1], last)
    return Bonus(past.items, network.repeat.of_past(past))


def _at_places(noise: Tensor, real: Tensor) -> Tensor:
    """Noise (rows, max_history, ...) of the real positions."""
    return noise[:, : real.shape[1]].to(real.device)[real]


def user_queries(
    network: ItemNetwork,
    histories: Histories,
    max_history: int,
    max_rows: int = 1024,
    ask: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """One query vector per user; users of equal length go together, so no network sees padding.

    `ask` may put the network another question than its `queries`.
    """
    table = network.item_table()
    queries = table.new_empty(len(histories), table.shape[1])
    histories = histories.last(max_history)
    for length in np.unique(histories.lengths):
        same = np.flatnonzero(histories.lengths == length)
        for start in range(0, len(same), max_rows):
            rows = same[start : start + max_rows]
            items = histories.take(rows).items.reshape(len(rows), length).astype(np.int64)
            found = (ask or network.queries)(torch.from_numpy(items).to(table.device))
            queries[torch.from_numpy(rows).to(table.device)] = found.to(queries.dtype)
    return queries


def scores_of(network: ItemNetwork, queries: Tensor, table: Tensor, histories: Histories) -> ScoreRows:
    """The scores of all items of the table for a slice of the users."""
    terms = None if network.repeat is None else network.repeat.for_users(histories)

    def score(rows: slice) -> Tensor:
        scores = network.scores(queries[rows], table)
        if terms is not None:
            terms.add_to(scores, rows)
        return scores

    return score


@torch.no_grad()
def mean_ndcg(network: ItemNetwork, cases: Cases, max_history: int) -> float:
    """NDCG@10 of full ranking; scores that are not numbers rank last."""
    table, total = network.item_table(), 0.0
    queries = user_queries(network, cases.histories, max_history)
    targets = torch.from_numpy(cases.targets.astype(np.int64)).to(table.device)
    rows = max(1, _SCORE_CELLS // len(table))
    score = scores_of(network, queries, table, cases.histories)
    for start in range(0, len(cases), rows):
        scores = score(slice(start, min(start + rows, len(cases))))
        own = scores.gather(-1, targets[start : start + rows, None])
        ranks = (~(scores < own)).sum(-1)  # 1 is best
        total += float((1 / torch.log2(ranks + 1.0))[ranks <= 10].sum())
    return total / len(cases)
