from __future__ import annotations

import numpy as np
import torch

from sidrec.data.histories import Histories
from sidrec.decoding.diffusion import search
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.search_space import ItemSearchSpace
from sidrec.models.id_search import Generation
from sidrec.models.ranking import Ranking
from sidrec.serving import answers


def generation() -> Generation:
    """Three slots of two codes, every ID an item; code 0 is always twice as likely."""
    space = ItemSearchSpace(np.array(list(np.ndindex(2, 2, 2)), dtype=np.int32), (2, 2, 2))
    constraint = space.constraint(Histories.from_lists([[]]))
    result = search(
        lambda codes, slots: torch.tensor([2 / 3, 1 / 3]).log().expand(*slots.shape, 2),
        1,
        SearchPlan(n_codes=3, n_steps=3, beam_size=8, k=2),
        constraint,
        trace=True,
    )
    assert result.trace is not None
    return Generation(Ranking(np.array([[0, 4]]), np.zeros((1, 2), np.float32)), result.trace, constraint)


def test_steps_for_programs_keep_few_titles(monkeypatch):
    monkeypatch.setattr(answers, "N_TITLES", 2)
    first = answers.steps_of(generation(), [f"lamp {number}" for number in range(8)])[0].as_dict()
    assert first["best"][0]["titles"] == ["lamp 0", "lamp 1"]
    assert first["best"][0]["n_fitting"] == 4
    assert first["choices"] == [{"slots": [1], "candidates": 1}]
