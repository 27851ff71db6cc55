from __future__ import annotations

import pytest
import torch

from reference.learning import cycle_recall, quick
from sidrec.models.fmlprec import FMLPRec, FMLPRecNetwork, FMLPRecSettings


def network() -> FMLPRecNetwork:
    torch.manual_seed(0)
    return FMLPRecNetwork(9, FMLPRecSettings(d_model=8, max_history=5)).eval()


@pytest.mark.slow
def test_the_cycle_is_learned():
    assert cycle_recall(FMLPRec(**quick(epochs=5, batch_size=128))) > 0.9


def test_short_histories_stand_at_the_new_end_of_the_window():
    one = network()
    torch.testing.assert_close(one.queries(torch.tensor([[3, 4]])), one.last(torch.tensor([[-1, -1, -1, 3, 4]])))


def test_every_place_of_the_window_reaches_the_newest():
    one = network()
    base = one.queries(torch.tensor([[1, 2, 3, 4, 5]]))
    for place in range(5):
        changed = torch.tensor([[1, 2, 3, 4, 5]])
        changed[0, place] = 8
        assert not torch.allclose(base, one.queries(changed))


def test_an_empty_place_is_not_the_first_item():
    one = network()
    assert not torch.allclose(one.last(torch.tensor([[-1, -1, -1, 3, 4]])), one.last(torch.tensor([[0, 0, 0, 3, 4]])))
