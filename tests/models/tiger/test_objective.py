from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from reference.random_ids import random_ids
from sidrec.data.synthetic import cycle
from sidrec.models.tiger.config import TigerSettings
from sidrec.models.tiger.network import IdWriter
from sidrec.models.tiger.objective import NextIdObjective
from sidrec.training.objective import Batch

SMALL = {"d_model": 16, "n_heads": 2, "d_head": 8, "n_layers": 1, "d_ff": 32, "user_buckets": 7, "max_history": 3}


@cache
def network() -> IdWriter:
    torch.manual_seed(0)
    return IdWriter(random_ids(12, (5, 4)), TigerSettings.model_validate(SMALL)).eval()


def objective(**values: object) -> NextIdObjective:
    settings = TigerSettings.model_validate({**SMALL, **values})
    return NextIdObjective(cycle(n_items=12, n_users=5, length=8), 2, settings, None)


def batch(rows: list[int], mine: slice = slice(None)) -> Batch:
    return Batch(np.array(rows), mine, torch.Generator().manual_seed(0), 0, 0)


def total(task: NextIdObjective, given: Batch) -> float:
    return sum(float(part.total) for part in task.parts(network(), given))


@torch.no_grad()
def test_the_loss_is_that_of_every_pair_alone() -> None:
    data, module, task = cycle(n_items=12, n_users=5, length=8), network(), objective(nobody_rate=0.0)
    expected, n_pairs = 0.0, 0
    for user, row in enumerate(data.train_sequences()):
        token = torch.from_numpy(module.user_tokens([data.user_ids[user]]))
        for target in range(1, len(row)):
            history = torch.from_numpy(row[max(0, target - 3) : target].astype(np.int64))[None]
            codes = module.item_tokens.codes_of(torch.tensor([row[target]]))
            expected += float(module.token_losses(module.hidden(history, token, codes), codes).mean())
            n_pairs += 1
    assert task.n_samples == n_pairs == 5 * 5
    assert total(task, batch(list(range(n_pairs)))) == pytest.approx(expected / n_pairs, rel=1e-5)


@torch.no_grad()
def test_shares_of_two_processes_add_up() -> None:
    task, rows = objective(nobody_rate=0.5), [3, 1, 24, 7, 9]
    whole = total(task, batch(rows))
    assert total(task, batch(rows, slice(0, 2))) + total(task, batch(rows, slice(2, None))) == pytest.approx(whole)


@torch.no_grad()
def test_the_hidden_user_is_nobody() -> None:
    rows = list(range(25))
    known, hidden = total(objective(nobody_rate=0.0), batch(rows)), total(objective(nobody_rate=1.0), batch(rows))
    assert known != pytest.approx(hidden, rel=1e-4)
    assert hidden == pytest.approx(total(objective(nobody_rate=1.0), batch(rows[::-1])), rel=1e-5)
