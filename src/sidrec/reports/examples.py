"""A few users: what they had, what the model shows them, what came next, and how the list was generated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidrec.data.dataset import Cases, Dataset
from sidrec.decoding.drawing import Drawing, draw, tell
from sidrec.models.base import Recommender
from sidrec.models.capabilities import Explains
from sidrec.models.registry import find_model, load_model
from sidrec.models.request import Request
from sidrec.reports.runs import Benchmark, RowRuns

_LISTED = 10


@dataclass(frozen=True)
class UserExample:
    """`rank` is where the item that came next stands in the list, from 1; None where it is not in it."""

    user_id: str
    history: list[str]
    came_next: str
    listed: list[str]
    rank: int | None
    trace: list[str]

    @property
    def standing(self) -> str:
        return f"place {self.rank} of the list" if self.rank else "not in the list"


@dataclass(frozen=True)
class Examples:
    model: str
    dataset: str
    users: list[UserExample]


def user_examples(benchmark: Benchmark, n_users: int) -> Examples | None:
    """Users of the first model that can tell how it generates; None where no model can."""
    for section in benchmark.sections:
        for row in section.measured:
            if issubclass(find_model(row.model).load_class(), Explains):
                model, data = load_model(benchmark.out / row.records[0].model), benchmark.data(section.dataset)
                cases = data.cases("test")
                chosen = cases.take(_chosen(row, len(cases), n_users))
                seen = benchmark.plan.leaves_out_seen(section.section)
                users = [_example(model, data, chosen, case, exclude_seen=seen) for case in range(len(chosen))]
                return Examples(row.label, section.dataset, users)
    return None


def _chosen(row: RowRuns, n_cases: int, n_users: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Hits and misses alternate, so that neither luck nor failure is all there is to see."""
    ranks = row.test[0].ranks["rank"].to_numpy()
    if len(ranks) != n_cases:
        return np.linspace(0, n_cases - 1, min(n_users, n_cases)).astype(np.int64)
    hits, misses = np.flatnonzero(ranks >= 0), np.flatnonzero(ranks < 0)
    wanted = -(-n_users // 2)
    both = np.concatenate([hits[:: max(len(hits) // wanted, 1)][:wanted], misses[: n_users - min(wanted, len(hits))]])
    return np.sort(both[:n_users]).astype(np.int64)


def _example(model: Recommender, data: Dataset, cases: Cases, row: int, *, exclude_seen: bool) -> UserExample:
    titles, ids = data.catalog.titles, data.catalog.item_ids.to_list()
    history, target = cases.histories[row], int(cases.targets[row])
    ranking = model.rank(Request(cases.histories.take(np.array([row])), _LISTED, exclude_seen=exclude_seen))
    items = [int(item) for item in ranking.items[0] if item >= 0]
    assert isinstance(model, Explains)
    generation = model.explain([ids[item] for item in history], _LISTED, exclude_seen=exclude_seen)
    stories = tell(generation.trace, titles, generation.constraint)
    return UserExample(
        user_id=str(data.user_ids[int(cases.users[row])]),
        history=[titles[item] for item in history],
        came_next=titles[target],
        listed=[titles[item] for item in items],
        rank=items.index(target) + 1 if target in items else None,
        trace=draw(stories, Drawing(n_titles=2)),
    )
