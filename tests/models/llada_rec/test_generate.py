"""Generation around the search: grouping by length, duplicates, and lists shorter than asked."""

from __future__ import annotations

import numpy as np
import torch

from sidrec.data.histories import Histories
from sidrec.models.base import Candidates
from sidrec.models.llada_rec.config import LLaDARecSettings, SearchSettings
from sidrec.models.llada_rec.generate import Generator, _distinct
from sidrec.models.llada_rec.network import MaskPredictor
from sidrec.sids.semantic_ids import SemanticIds

CODES = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 2], [2, 2]], dtype=np.int32)  # the last two share an ID


def generator(attention: str = "prefix") -> Generator:
    torch.manual_seed(0)
    settings = LLaDARecSettings(d_model=8, n_heads=2, n_layers=1, max_history=3, attention=attention)
    ids = SemanticIds(CODES, (3, 3), [str(item) for item in range(6)])
    return Generator(MaskPredictor((3, 3), settings).eval(), ids, 3)


def test_users_are_grouped_by_cut_length() -> None:
    histories = Histories.from_lists([[0], [1, 2, 3, 4], [5], [0, 1, 2]])
    groups = [rows.tolist() for rows in generator()._groups(histories, SearchSettings())]
    assert groups == [[0, 2], [1, 3]]


def test_items_that_share_an_id_follow_each_other() -> None:
    ranking = generator().rank(Histories.from_lists([[0, 1]]), 6, Candidates(), SearchSettings())
    order = ranking.items[0].tolist()
    assert sorted(order) == [0, 1, 2, 3, 4, 5]
    assert order.index(5) == order.index(4) + 1
    assert ranking.scores[0, order.index(4)] == ranking.scores[0, order.index(5)]


def test_more_asked_than_there_is() -> None:
    ranking = generator().rank(Histories.from_lists([[0], [1, 2]]), 9, Candidates(exclude_seen=True), SearchSettings())
    assert (ranking.items >= 0).sum(1).tolist() == [5, 4]
    assert np.isneginf(ranking.scores[ranking.items < 0]).all()


def test_only_the_newest_items_matter() -> None:
    one = generator().rank(Histories.from_lists([[5, 0, 1, 2]]), 3, Candidates(), SearchSettings())
    two = generator().rank(Histories.from_lists([[4, 3, 0, 1, 2]]), 3, Candidates(), SearchSettings())
    assert one.items.tolist() == two.items.tolist() and np.array_equal(one.scores, two.scores)


def test_distinct_ids_are_counted() -> None:
    codes = np.array([[[1, 2], [1, 2], [-1, -1]], [[1, 2], [2, 1], [0, 0]]], dtype=np.int32)
    assert _distinct(codes).tolist() == [1, 3]
