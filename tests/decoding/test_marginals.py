from __future__ import annotations

import torch

from sidrec.decoding.marginals import code_marginals

CODES = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])
LOG_PROBS = torch.tensor([0.1, 0.2, 0.3, 0.4]).log()


def test_code_probabilities_are_sums_of_item_probabilities():
    predict = code_marginals(LOG_PROBS, CODES, 3)
    found = predict(torch.tensor([[[-1, -1]]]), torch.tensor([[[0, 1]]])).exp()[0, 0]
    torch.testing.assert_close(found, torch.tensor([[0.3, 0.7, 0.0], [0.4, 0.6, 0.0]]))
    found = predict(torch.tensor([[[1, -1], [-1, 0]]]), torch.tensor([[[1], [0]]])).exp()[0, :, 0]
    torch.testing.assert_close(found, torch.tensor([[3 / 7, 4 / 7, 0.0], [0.25, 0.75, 0.0]]))


def test_items_that_are_not_allowed_count_nothing():
    predict = code_marginals(torch.tensor([0.5, 0.5, 0.0, 0.0]).log(), CODES, 2)
    assert predict(torch.tensor([[[-1, -1]]]), torch.tensor([[[0]]])).exp()[0, 0, 0].tolist() == [1.0, 0.0]
