from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from sidrec.data.dataset import Cases
from sidrec.data.histories import Histories
from sidrec.models.llada_rec_plus.config import LLaDARecPlusSettings
from sidrec.models.llada_rec_plus.network import PlusNetwork
from sidrec.models.llada_rec_plus.objective import Negatives, PlusObjective
from sidrec.models.samples import Samples
from sidrec.nn.item_vectors import ItemFeatures

SEQUENCES = Histories.from_lists([[0, 1, 2, 0], [4, 5], [3, 1, 3]])
CODES = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, -1]])
NO_CASES = Cases(np.empty(0, np.int64), Histories.from_lists([]), np.empty(0, np.int32))


def parts(**values: Any) -> tuple[PlusNetwork, PlusObjective]:
    settings = LLaDARecPlusSettings(d_model=8, n_layers=1, dropout=0.0, max_history=4, target_row=True, **values)
    torch.manual_seed(0)
    network = PlusNetwork(6, settings, ItemFeatures(torch.from_numpy(CODES), (3, 2)))
    if network.repeat is not None:
        network.repeat.rho.data.fill_(-0.05)
    samples = Samples.windows(SEQUENCES, 4)
    return network, PlusObjective(samples, NO_CASES, settings, CODES, np.ones(6, np.int64))


def brute_force(network: PlusNetwork, history: list[int], target: int, visible: list[bool]) -> torch.Tensor:
    """-log softmax over the items that agree with the visible codes, one by one."""
    tokens = network.items.tokens_of(torch.tensor([target])) * torch.tensor(visible)
    query = network.queries_given(torch.tensor([history]), tokens)[0]
    scores = network.item_table() @ query
    scores = scores + torch.tensor([-0.5 if item in history else 0.0 for item in range(6)])
    shown = np.array(visible) & (CODES[target] >= 0)
    agree = (CODES[:, shown] == CODES[target, shown]).all(1)
    return -torch.log_softmax(scores.masked_fill(~torch.from_numpy(agree), -torch.inf), 0)[target]


def test_the_loss_is_brute_force_with_everything_and_with_something_hidden():
    network, objective = parts(partly_hidden_weight=0.3)
    noise = objective.draw(3, torch.Generator().manual_seed(4))
    loss = objective.loss(network, SEQUENCES, noise)
    expected = torch.zeros(())
    for row, sequence in enumerate(SEQUENCES):
        for place in range(len(sequence) - 1):
            history, target = sequence[: place + 1].tolist(), int(sequence[place + 1])
            visible = noise[0][row, place].tolist()
            assert sum(visible) == 1
            expected = expected + brute_force(network, history, target, [False, False])
            expected = expected + 0.3 * brute_force(network, history, target, visible)
    torch.testing.assert_close(loss, expected)


def test_without_noise_nothing_is_drawn_and_the_rest_is_the_same():
    network, objective = parts(partly_hidden_weight=0.0)
    assert objective.draw(3, torch.Generator()) == ()
    expected = sum(
        brute_force(network, sequence[: place + 1].tolist(), int(sequence[place + 1]), [False, False])
        for sequence in SEQUENCES
        for place in range(len(sequence) - 1)
    )
    torch.testing.assert_close(objective.loss(network, SEQUENCES, ()), expected)


def test_a_sampled_softmax_that_drew_everything_is_the_full_one():
    network, objective = parts(partly_hidden_weight=0.0)
    full = objective.loss(network, SEQUENCES, ())
    network, objective = parts(partly_hidden_weight=0.0, softmax="sampled", n_negatives=400)
    objective.draw(3, torch.Generator().manual_seed(0))
    assert objective.negatives is not None
    assert objective.negatives.items.tolist() == list(range(6))
    torch.testing.assert_close(objective.loss(network, SEQUENCES, ()), full)


def test_sums_over_samples_stand_for_the_whole_catalogue():
    values = torch.rand(50, generator=torch.Generator().manual_seed(0))
    negatives, draw = Negatives(np.arange(50), n_draws=8), torch.Generator().manual_seed(1)
    found = []
    for _ in range(4000):
        negatives.draw(draw)
        found.append(float((values[negatives.items] / negatives._log_chance[negatives.items].exp()).sum()))
    assert np.mean(found) == pytest.approx(float(values.sum()), rel=0.03)


def test_sampling_is_for_very_large_catalogues():
    settings = LLaDARecPlusSettings()
    assert not settings.samples_softmax(50_000)
    assert settings.samples_softmax(1_000_000)
    assert not LLaDARecPlusSettings(softmax="full").samples_softmax(1_000_000)
