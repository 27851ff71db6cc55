from __future__ import annotations

import numpy as np
import torch

from sidrec.data.histories import Histories
from sidrec.decoding.diffusion import SearchResult
from sidrec.decoding.results import ranked_items
from sidrec.decoding.search_space import ItemSearchSpace

SPACE = ItemSearchSpace(np.array([[0, 1], [1, 1], [0, 1], [0, 0]], dtype=np.int32), (2, 2))
FOUND = SearchResult(
    codes=torch.tensor([[[1, 0], [0, 1], [1, 1]], [[0, 1], [-1, -1], [-1, -1]]]),
    scores=torch.tensor([[-1.0, -2.0, -3.0], [-4.0, float("-inf"), float("-inf")]]),
)


def test_ids_become_items_and_unreal_ids_take_no_rank():
    items, scores = ranked_items(SPACE.index, FOUND, 3)
    assert items.tolist() == [[0, 2, 1], [0, 2, -1]]
    assert scores.tolist() == [[-2.0, -2.0, -3.0], [-4.0, -4.0, -np.inf]]
    assert ranked_items(SPACE.index, FOUND, 1)[0].tolist() == [[0], [0]]


def test_an_unconstrained_search_still_leaves_out_what_the_user_has():
    constraint = SPACE.constraint(Histories.from_lists([[0], [1]]), exclude_seen=True)
    assert ranked_items(SPACE.index, FOUND, 2, constraint)[0].tolist() == [[2, 1], [0, 2]]
