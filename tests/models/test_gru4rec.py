from __future__ import annotations

import numpy as np
import pytest
import torch

from reference.learning import cycle_recall, quick
from sidrec.data.dataset import Cases
from sidrec.data.histories import Histories
from sidrec.models.gru4rec import BprMaxObjective, GRU4Rec, GRU4RecNetwork, GRU4RecSettings
from sidrec.models.samples import Samples


@pytest.mark.parametrize("loss", [{"loss": "cross-entropy"}, {"loss": "bpr-max", "n_negatives": 16}])
@pytest.mark.slow
def test_the_cycle_is_learned(loss):
    assert cycle_recall(GRU4Rec(**quick(**loss))) > 0.9


def test_the_future_changes_nothing():
    torch.manual_seed(0)
    network = GRU4RecNetwork(9, GRU4RecSettings(d_model=8, n_layers=2)).eval()
    past = network.hidden(torch.tensor([[1, 2, 3, 4]]))[:, :2]
    torch.testing.assert_close(past, network.hidden(torch.tensor([[1, 2, 7, 8]]))[:, :2])


@pytest.mark.parametrize(("exponent", "expected"), [(0.0, [0.25] * 4), (1.0, [0.1, 0.2, 0.3, 0.4])])
def test_negatives_are_drawn_by_the_power_of_their_counts(exponent, expected):
    settings = GRU4RecSettings(loss="bpr-max", n_negatives=20_000, popularity_exponent=exponent)
    samples = Samples.windows(Histories.from_lists([[0, 1]]), 5)
    cases = Cases(np.empty(0, np.int64), Histories.from_lists([]), np.empty(0, np.int32))
    objective = BprMaxObjective(samples, cases, torch.tensor([1, 2, 3, 4]), settings)
    objective.draw(1, torch.Generator().manual_seed(0))
    shares = torch.bincount(objective.negatives, minlength=4) / 20_000
    torch.testing.assert_close(shares, torch.tensor(expected), atol=0.015, rtol=0)
