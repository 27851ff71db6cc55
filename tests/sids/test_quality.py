from __future__ import annotations

import numpy as np
import pytest

from sidrec.sids.quality import count_identical, health, nearest_items, neighbour_agreement, perplexity, relative_error
from sidrec.sids.rq_kmeans import RQKMeans
from sidrec.sids.semantic_ids import SemanticIds


def test_perplexity_is_the_number_of_codes_where_all_are_used_alike() -> None:
    assert perplexity(np.array([5, 5, 0, 5, 5])) == pytest.approx(4)
    assert perplexity(np.array([9, 0])) == pytest.approx(1)


def test_relative_error_by_hand() -> None:
    vectors = np.array([[0.0], [2.0]], np.float32)  # variance around the mean: 1 + 1
    assert relative_error(vectors, np.array([[0.0], [1.0]], np.float32)) == 0.5
    assert relative_error(vectors, np.ones((2, 1), np.float32)) == 1.0
    assert relative_error(np.ones((3, 2), np.float32), np.ones((3, 2), np.float32)) == 0.0


def test_identical_vectors_are_counted_wherever_they_stand() -> None:
    vectors = np.random.default_rng(0).normal(size=(40_000, 3)).astype(np.float32)
    vectors[39_999] = vectors[5]
    vectors[20_001] = vectors[5]
    vectors[7], vectors[8] = 0.0, -0.0
    assert count_identical(vectors) == 5


def test_nearest_items_leave_the_item_itself_out() -> None:
    vectors = np.array([[0.0], [1.0], [3.0], [7.0]], np.float32)
    assert nearest_items(vectors, np.array([0, 3]), 2).tolist() == [[1, 2], [2, 1]]
    identical = np.zeros((9, 2), np.float32)
    found = nearest_items(identical, np.arange(9), 3)
    assert all(item not in row for item, row in enumerate(found.tolist()))


def test_agreement_by_hand() -> None:
    """Two far pairs; with one neighbour each, codes that follow the pairs agree fully, crossed ones never."""
    vectors = np.array([[0.0], [0.1], [9.0], [9.1]], np.float32)
    assert neighbour_agreement(vectors, np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32)[:, :1], 1) == 1.0
    assert neighbour_agreement(vectors, np.array([[0], [1], [0], [1]], np.int32), 1) == 0.0
    # all codes alike: the one place is drawn among three ties
    assert neighbour_agreement(vectors, np.zeros((4, 1), np.int32), 1) == pytest.approx(1 / 3)


def test_report_has_the_promised_keys_and_counts() -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    vectors[1] = vectors[0]
    tokenizer = RQKMeans(codebook_sizes=(4, 4), pca=None).fit(vectors)
    nearest = tokenizer.encode(vectors)
    report = health(tokenizer, vectors, nearest, SemanticIds(nearest, (4, 4), [str(i) for i in range(50)]))
    groups = np.unique(nearest, axis=0, return_counts=True)[1]
    assert report["items"] == 50 and report["unique_ids"] == len(groups)
    assert report["collisions_before"] == report["collisions_after"] == groups[groups > 1].sum()
    assert report["identical_vectors"] == 2 and report["moved_items"] == 0
    assert (report["used_codes"], report["codes"]) == (8, 8)
    error = ((vectors - tokenizer.reconstruct(nearest)) ** 2).sum() / ((vectors - vectors.mean(0)) ** 2).sum()
    assert report["reconstruction_error"] == pytest.approx(error, rel=1e-4)
    assert 0 < report["neighbour_agreement"] < 1
