from __future__ import annotations

import numpy as np
import torch

from reference.masked_search import of_asked_slots
from sidrec.data.histories import Histories
from sidrec.decoding.diffusion import search
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.search_space import ItemSearchSpace

SPACE = ItemSearchSpace(np.array([[0, 0], [0, 1], [1, 1], [1, 0]], dtype=np.int32), (2, 2))


@of_asked_slots
def predict(codes: torch.Tensor) -> torch.Tensor:
    """Slot 1 is surer at first; then slot 2 says 3 : 1 for code 1."""
    first = torch.tensor([[0.8, 0.2], [0.5, 0.5]]).log()
    then = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
    return torch.where((codes < 0).all(-1)[..., None, None], first, then)


def traced(seen: list[int]):
    constraint = SPACE.constraint(Histories.from_lists([seen]), exclude_seen=True)
    result = search(predict, 1, SearchPlan(n_codes=2, n_steps=2, beam_size=3, k=3), constraint, trace=True)
    assert result.trace is not None
    return result, constraint


def test_every_step_is_recorded():
    result, _ = traced(seen=[2])
    first, second = result.trace.steps
    assert torch.allclose(first.confidence[0, 0].exp(), torch.tensor([0.8, 0.5]))
    assert first.chosen.tolist() == [[[0]]]
    assert first.after.codes[0].tolist() == [[0, -1], [1, -1]]
    assert first.fitting.tolist() == [[2, 1]], "item 2 is seen"
    assert second.before is first.after
    assert second.confidence[0, :, 0].tolist() == [float("-inf")] * 2, "slot 1 is filled already"
    assert second.after.codes[0].tolist() == result.codes[0].tolist() == [[0, 1], [0, 0], [1, 0]]


def test_tracing_changes_nothing():
    result, constraint = traced(seen=[])
    plain = search(predict, 1, SearchPlan(n_codes=2, n_steps=2, beam_size=3, k=3), constraint)
    assert plain.trace is None
    assert torch.equal(plain.codes, result.codes)
