"""Passes laid out by hand: which item stands where, and which noise it gets."""

from __future__ import annotations

import numpy as np
import torch

from sidrec.models.llada_rec.masking import Noise
from sidrec.models.llada_rec.packs import Noisy, Passes, Places


def passes(*rows: tuple[int, int, int, int, bool], twice: bool = False) -> Passes:
    """(row, first, history items, items, next-item loss or not) each."""
    row, first, n_history, n_items, is_next = (np.array(column) for column in zip(*rows, strict=True))
    return Passes(row, first, n_history, n_items, is_next, twice)


def test_a_prefix_and_its_history() -> None:
    places = Places.of(passes((0, 7, 2, 3, True), (1, 4, 2, 2, False)))
    assert places.at.tolist() == [7, 8, 9, 4, 5]
    assert places.ages.tolist() == [2, 1, 0, 2, 1]
    assert places.is_target.tolist() == [False, False, True, False, False]
    assert places.row.tolist() == [0, 0, 0, 1, 1]


def test_targets_are_read_behind_their_histories() -> None:
    """Items 5, 6, 7: histories 5 and 6, then once more their targets 6 and 7; beside it a history alone."""
    places = Places.of(passes((0, 5, 2, 4, True), (0, 5, 2, 2, False), twice=True))
    assert places.at.tolist() == [5, 6, 6, 7, 5, 6]
    assert places.ages.tolist() == [2, 1, 1, 0, 2, 1]
    assert places.is_target.tolist() == [False, False, True, True, False, False]
    assert places.passes.n_read.tolist() == [2, 2]


def test_runs_are_alike() -> None:
    mixed = passes((0, 0, 2, 3, True), (1, 3, 2, 3, True), (2, 6, 3, 3, False), (3, 9, 2, 3, False))
    assert [run.row.tolist() for run in mixed.runs()] == [[0, 1], [2], [3]]


def test_packs_hold_every_pass_once_short_ones_first(monkeypatch) -> None:
    monkeypatch.setattr("sidrec.models.llada_rec.packs.PACK_TOKENS", 10)
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 8, 40)
    every = passes(*((n, 0, int(size), int(size), False) for n, size in enumerate(lengths)))
    found = list(every.packs(n_codes=2))
    assert sorted(np.concatenate([pack.row for pack in found])) == list(range(40))
    assert (np.diff(np.concatenate([pack.n_items for pack in found])) >= 0).all()
    assert max(pack.n_items.sum() * 2 for pack in found if len(pack) > 1) <= 10 + 2 * 7


def test_noise_goes_where_its_loss_looks() -> None:
    places = Places.of(passes((0, 0, 1, 2, True), (1, 5, 2, 2, False)))
    next_noise = Noise(torch.tensor([[[True]], [[False]]]), torch.tensor([[[2.0]], [[9.0]]]))
    past_noise = Noise(
        torch.tensor([[[True], [True]], [[False], [True]]]), torch.tensor([[[7.0], [7.0]], [[3.0], [4.0]]])
    )
    noisy = Noisy.of(places, (next_noise, past_noise), np.array([0, 0, 0, 1]))
    assert noisy.masked.flatten().tolist() == [False, True, False, True]
    assert noisy.next_weight.flatten().tolist() == [0, 2, 0, 0]
    assert noisy.past_weight.flatten().tolist() == [0, 0, 3, 4]
