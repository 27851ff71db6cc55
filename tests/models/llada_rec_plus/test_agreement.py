from __future__ import annotations

import numpy as np
import torch

from sidrec.models.llada_rec_plus.agreement import Agreement

CODES = np.random.default_rng(0).integers(3, size=(60, 3))


def lists(agreement: Agreement, visible: torch.Tensor, targets: torch.Tensor) -> dict[int, list[int]]:
    rows, items = agreement.candidates(visible, targets)
    return {int(row): sorted(items[rows == row].tolist()) for row in rows.unique()}


def test_candidates_are_all_items_that_agree_where_visible():
    draw = torch.Generator().manual_seed(0)
    visible = torch.rand(40, 3, generator=draw) < 0.6
    targets = torch.randint(60, (40,), generator=draw)
    found = lists(Agreement(CODES), visible, targets)
    for row, (shown, target) in enumerate(zip(visible.numpy(), targets.tolist(), strict=True)):
        agree = np.flatnonzero((CODES[:, shown] == CODES[target, shown]).all(1)).tolist()
        assert found.get(row, [target]) == agree


def test_a_crowd_is_cut_to_the_target_and_some_others():
    targets = torch.arange(60)
    found = lists(Agreement(CODES, limit=4), torch.tensor([[True, False, False]]).repeat(60, 1), targets)
    for target, items in found.items():
        assert target in items
        assert len(items) == len(set(items)) == 4
        assert (CODES[items, 0] == CODES[target, 0]).all()
    assert len({tuple(items) for items in found.values()}) > 6


def test_an_answer_that_is_forced_asks_nothing():
    rows, items = Agreement(np.array([[0, 0], [0, 1]])).candidates(torch.tensor([[True, True]]), torch.tensor([1]))
    assert len(rows) == len(items) == 0
