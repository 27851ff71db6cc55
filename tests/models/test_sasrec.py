from __future__ import annotations

import torch

from reference.learning import cycle_recall, quick
from sidrec.models.registry import find_model
from sidrec.models.sasrec import SASRec, SASRecNetwork, SASRecSettings, SASRecSoftmax


def network(**values: object) -> SASRecNetwork:
    torch.manual_seed(0)
    return SASRecNetwork(9, SASRecSettings(d_model=8, n_layers=2, max_history=6, **values)).eval()


def test_the_cycle_is_learned_as_published():
    assert cycle_recall(SASRec(**quick(epochs=16))) > 0.9


def test_the_cycle_is_learned_with_the_full_softmax():
    assert cycle_recall(SASRecSoftmax(**quick())) > 0.9


def test_the_future_changes_nothing():
    one = network()
    past = one.hidden(torch.tensor([[1, 2, 3, 4]]))[:, :2]
    torch.testing.assert_close(past, one.hidden(torch.tensor([[1, 2, 7, 8]]))[:, :2])


def test_the_order_of_the_past_matters():
    one = network()
    first, second = one.queries(torch.tensor([[1, 2, 3], [2, 1, 3]]))
    assert not torch.allclose(first, second)


def test_a_query_is_the_newest_hidden_vector():
    one = network()
    histories = torch.tensor([[1, 2, 3], [4, 5, 6]])
    torch.testing.assert_close(one.queries(histories), one.hidden(histories)[:, -1])


def test_two_rows_of_the_registry_two_losses():
    assert find_model("sasrec").make().settings.loss == "bce"
    assert find_model("sasrec-ce").make().settings.loss == "cross-entropy"
    assert SASRecSoftmax(d_model=8).key == "sasrec-ce" and isinstance(SASRecSoftmax(), SASRec)
    assert SASRecSoftmax(loss="bce").settings.loss == "bce"  # the user's word is the last
