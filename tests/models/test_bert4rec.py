from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.learning import cycle_recall, quick
from sidrec.data.dataset import Cases
from sidrec.data.histories import Histories
from sidrec.models.bert4rec import BERT4Rec, BERT4RecNetwork, BERT4RecSettings, ClozeObjective, cloze
from sidrec.models.samples import Samples


def network() -> BERT4RecNetwork:
    torch.manual_seed(0)
    return BERT4RecNetwork(9, BERT4RecSettings(d_model=8, max_history=5)).eval()


@pytest.mark.slow
def test_the_cycle_is_learned():
    assert cycle_recall(BERT4Rec(**quick(epochs=32, last_only=0.7))) > 0.9


@settings(max_examples=30, deadline=None)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5), seed=st.integers(0, 999))
def test_masks_hit_real_places_at_least_once_and_the_last_one_where_asked(lengths, seed):
    items = torch.from_numpy(Histories.from_lists([range(n) for n in lengths]).padded(6).astype(np.int64))
    draw = torch.Generator().manual_seed(seed)
    last_only = torch.rand(len(lengths), generator=draw) < 0.5
    masked = cloze(items, torch.rand(len(lengths), 9, generator=draw), last_only, ratio=0.3)
    assert not (masked & (items < 0)).any()
    assert masked.any(-1).all()
    assert (masked[last_only].sum(-1) == 1).all()
    assert masked[last_only][:, -1].all()


def test_a_ratio_of_one_masks_everything():
    items = torch.tensor([[-1, 3, 4]])
    assert cloze(items, torch.rand(1, 3), torch.tensor([False]), 1.0).tolist() == [[False, True, True]]


def test_masks_do_not_depend_on_how_rows_are_grouped():
    """A short row alone has no padding; beside a long one it has. The same places are masked."""
    items = torch.tensor([[0, 1, 2, 3, 4], [-1, -1, 5, 6, 7]])
    for seed in range(20):
        luck = torch.rand(2, 6, generator=torch.Generator().manual_seed(seed))
        together = cloze(items, luck, torch.tensor([False, False]), 0.4)
        alone = cloze(items[1:, 2:], luck[1:], torch.tensor([False]), 0.4)
        assert together[1, 2:].tolist() == alone[0].tolist()


def test_the_network_never_sees_an_item_it_predicts():
    """What is masked reaches the network as the mask, whatever stood there."""
    seen = []

    class Spy(BERT4RecNetwork):
        def hidden(self, items, rows=None):
            seen.append(items)
            return super().hidden(items, rows)

    spy = Spy(9, BERT4RecSettings(d_model=8, max_history=5))
    no_cases = Cases(np.empty(0, np.int64), Histories.from_lists([]), np.empty(0, np.int32))
    sequences = Histories.from_lists([[0, 1, 2, 3], [4, 5, 6]])
    objective = ClozeObjective(Samples.windows(sequences, 5), no_cases, BERT4RecSettings(mask_ratio=0.5))
    noise = objective.draw(2, torch.Generator().manual_seed(0))
    objective.loss(spy, sequences, noise)
    items = torch.tensor([[0, 1, 2, 3], [-1, 4, 5, 6]])
    masked = cloze(items, noise[0], noise[1] < objective.last_only, 0.5)
    assert (seen[0][masked] == spy.mask).all()
    assert (seen[0][~masked] == items[~masked]).all()
    assert masked.sum() >= 2


def test_prediction_appends_one_mask():
    one = network()
    direct = one.hidden(torch.tensor([[1, 2, 9]]))[:, -1]
    torch.testing.assert_close(one.queries(torch.tensor([[1, 2]])), direct)


def test_it_looks_both_ways():
    one = network()
    first, second = one.hidden(torch.tensor([[1, 9, 3], [1, 9, 4]]))[:, 1]
    assert not torch.allclose(first, second)


def test_padding_changes_nothing():
    one = network()
    padded = one.hidden(torch.tensor([[-1, -1, 1, 2]]))[:, 2:]
    torch.testing.assert_close(padded, one.hidden(torch.tensor([[1, 2]])))


def test_the_mask_is_no_item():
    assert network().item_table().shape == (9, 8)
