from __future__ import annotations

import torch

from sidrec.decoding.beam import Beams, pick


def numbered() -> Beams:
    """Two users, three beams of two slots; every part of beam b of user u says 10 u + b."""
    name = torch.tensor([[0, 1, 2], [10, 11, 12]])
    return Beams(
        codes=torch.stack([torch.full((2, 3), -1), name], dim=2),
        scores=-name.float(),
        pending=torch.zeros(2, 3, 1, dtype=torch.long),
        log_probs=name[:, :, None, None].expand(2, 3, 1, 4).float(),
    )


def test_everything_moves_with_the_beam():
    moved = numbered().take(torch.tensor([[2, 2], [0, 1]]))
    assert moved.codes[:, :, 1].tolist() == [[2, 2], [10, 11]]
    assert moved.scores.tolist() == [[-2, -2], [-0.0 - 10, -11]]
    assert moved.log_probs[:, :, 0, 3].tolist() == [[2, 2], [10, 11]]
    assert moved.pending.shape == (2, 2, 1)


def test_children_take_a_code_in_their_parents_pending_slot():
    children = numbered().extend(torch.tensor([[1], [2]]), torch.tensor([[3], [0]]), torch.tensor([[-1.5], [-2.5]]))
    assert children.codes.tolist() == [[[3, 1]], [[0, 12]]]
    assert children.scores.tolist() == [[-1.5], [-2.5]]
    assert children.pending.shape == (2, 1, 0)


def test_cut_and_beside_are_opposites():
    beams = numbered()
    again = beams.cut(0, 1).beside(beams.cut(1, 3))
    assert torch.equal(again.codes, beams.codes)
    assert torch.equal(again.log_probs, beams.log_probs)


def test_pick_chooses_separately_for_each_lead():
    values = torch.arange(12).view(2, 3, 2)
    assert pick(values, torch.tensor([[2, 0], [1, 1]])).tolist() == [[[4, 5], [0, 1]], [[8, 9], [8, 9]]]
