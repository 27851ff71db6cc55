from __future__ import annotations

import torch

from reference.learning import cycle_recall, quick
from sidrec.models.lrurec import LRURec, LRURecNetwork, LRURecSettings


def network() -> LRURecNetwork:
    torch.manual_seed(0)
    return LRURecNetwork(9, LRURecSettings(d_model=8, n_layers=2)).eval()


def test_the_cycle_is_learned():
    assert cycle_recall(LRURec(**quick(epochs=6))) > 0.9


def test_serving_step_by_step_gives_what_training_scans():
    one = network()
    histories = torch.tensor([[1, 2, 3, 4, 5], [8, 0, 8, 0, 8]])
    torch.testing.assert_close(one.queries(histories), one.hidden(histories)[:, -1], rtol=1e-4, atol=1e-5)


def test_a_kept_state_goes_on_where_it_stood():
    one = network()
    states, _ = one.step(one.start(1), torch.tensor([3]))
    _, out = one.step(states, torch.tensor([4]))
    torch.testing.assert_close(out, one.queries(torch.tensor([[3, 4]])))


def test_the_future_changes_nothing():
    one = network()
    past = one.hidden(torch.tensor([[1, 2, 3, 4]]))[:, :2]
    torch.testing.assert_close(past, one.hidden(torch.tensor([[1, 2, 7, 8]]))[:, :2])
