from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics.functional.retrieval import retrieval_normalized_dcg, retrieval_recall, retrieval_reciprocal_rank

from sidrec.metrics.ranking import gains, hits, mrr, ndcg_at, ranks_of, recall_at, reciprocals

ranks_lists = st.lists(st.integers(-1, 60), min_size=1, max_size=40).map(np.array)


def test_by_hand():
    ranks = np.array([0, 2, 9, 10, -1])
    assert recall_at(ranks, 1) == pytest.approx(1 / 5)
    assert recall_at(ranks, 10) == pytest.approx(3 / 5)
    assert ndcg_at(ranks, 10) == pytest.approx((1 + 1 / math.log2(4) + 1 / math.log2(11)) / 5)
    assert mrr(ranks) == pytest.approx((1 + 1 / 3 + 1 / 10 + 1 / 11) / 5)


def test_ranks_of_finds_the_place():
    ranked = np.array([[5, 3, 8], [1, 2, -1], [4, 0, 6]])
    assert ranks_of(ranked, np.array([8, 7, 4])).tolist() == [2, -1, 0]


def test_nobody_has_figure_zero():
    nobody = np.empty(0, dtype=np.int32)
    assert (recall_at(nobody, 5), ndcg_at(nobody, 5), mrr(nobody)) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("k", [1, 5, 10, 50])
def test_equal_to_torchmetrics_on_random_scores(k):
    rng = np.random.default_rng(k)
    scores = rng.random((60, 50)).astype(np.float32)
    targets = rng.integers(50, size=60)
    ranked = np.argsort(-scores, axis=1)
    ranks = ranks_of(ranked, targets)
    theirs = {"recall": [], "ndcg": [], "mrr": []}
    for row, target in zip(scores, targets, strict=True):
        preds, truth = torch.from_numpy(row), torch.zeros(50, dtype=torch.long)
        truth[target] = 1
        theirs["recall"].append(retrieval_recall(preds, truth, top_k=k).item())
        theirs["ndcg"].append(retrieval_normalized_dcg(preds, truth, top_k=k).item())
        theirs["mrr"].append(retrieval_reciprocal_rank(preds, truth).item())
    assert hits(ranks, k) == pytest.approx(theirs["recall"])
    assert gains(ranks, k) == pytest.approx(theirs["ndcg"], abs=1e-6)
    assert reciprocals(ranks) == pytest.approx(theirs["mrr"], abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(ranks_lists, st.integers(1, 50))
def test_order_of_the_figures(ranks, k):
    assert 0 <= ndcg_at(ranks, k) <= recall_at(ranks, k) <= recall_at(ranks, k + 1) <= 1
    assert recall_at(ranks, 1) == ndcg_at(ranks, 1)
    assert ndcg_at(ranks, k) <= ndcg_at(ranks, k + 1)
    assert recall_at(ranks, 1) <= mrr(ranks) <= 1


@settings(max_examples=40, deadline=None)
@given(ranks_lists, st.integers(1, 50))
def test_a_missing_item_is_one_far_below(ranks, k):
    far = np.where(ranks < 0, 10**6, ranks)
    assert (hits(ranks, k) == hits(far, k)).all()
    assert (gains(ranks, k) == gains(far, k)).all()
