from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sidrec.nn.item_vectors import ItemFeatures, ItemVectors

CODES = torch.tensor([[0, 1], [1, 0], [1, -1]])
TEXT = torch.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 1.0]])
FEATURES = ItemFeatures(codes=CODES, sizes=(2, 3), text=TEXT)


def vectors(features: ItemFeatures = FEATURES, **values: object) -> ItemVectors:
    torch.manual_seed(0)
    return ItemVectors(3, 4, features, **values)  # type: ignore[arg-type]


def by_hand(part: ItemVectors, item: int) -> Tensor:
    """id_i + sum_m C_m[c_m(i)] + A text_i; row 0 of the code table stands for the unknown."""
    assert part.code is not None and part.project is not None
    total = TEXT[item] @ part.project
    if part.identity and part.weight is not None:
        total = total + part.weight[item]
    for offset, code in zip((1, 3), CODES[item].tolist(), strict=True):
        total = total + (part.code[offset + code] if code >= 0 else 0)
    return total


@pytest.mark.parametrize("identity", [True, False])
def test_an_item_is_the_sum_of_its_parts_in_training_and_at_rest(identity):
    part = vectors(identity=identity)
    expected = torch.stack([by_hand(part, item) for item in range(3)])
    torch.testing.assert_close(part.table(), expected)
    torch.testing.assert_close(part(torch.tensor([[2, 0]])), expected[[2, 0]][None])
    part.eval()
    with torch.no_grad():
        torch.testing.assert_close(part.table(), expected)
        torch.testing.assert_close(part(torch.tensor([1])), expected[[1]])


def test_identity_alone_is_an_embedding_table():
    torch.manual_seed(5)
    part = ItemVectors(3, 4)
    torch.manual_seed(5)
    assert part.weight is not None
    torch.testing.assert_close(part.weight, torch.nn.Embedding(3, 4).weight, rtol=0, atol=0)
    assert part.table() is part.weight
    assert list(part.state_dict()) == ["weight"]


def test_a_table_at_rest_is_added_up_once_and_again_after_new_weights():
    part = vectors().eval()
    with torch.no_grad():
        first = part.table()
        assert part.table().data_ptr() == first.data_ptr()
        part.load_state_dict({name: 2 * value for name, value in part.state_dict().items()})
        torch.testing.assert_close(part.table(), 2 * first)


def test_what_is_known_of_items_is_not_among_the_weights():
    assert set(vectors().state_dict()) == {"weight", "code", "project"}


def test_cold_items_begin_and_stay_without_identity():
    part = vectors(ItemFeatures(CODES, (2, 3), TEXT, warm=torch.tensor([True, False, True])))
    assert part.weight is not None
    assert part.weight[1].tolist() == [0.0] * 4
    part.table().sum().backward()
    assert part.weight.grad is not None
    assert part.weight.grad.abs().sum(1).tolist() == [4.0, 0.0, 4.0]


def test_identities_are_left_out_in_training_only():
    part = vectors(identity_dropout=0.5)
    assert part.weight is not None
    torch.manual_seed(1)
    missing = part.table() - torch.stack([by_hand(part, item) for item in range(3)])
    rows = missing.abs().sum(1) > 1e-6
    assert 0 < int(rows.sum()) < 3
    torch.testing.assert_close(missing[rows], -part.weight[rows])
    part.eval()
    torch.testing.assert_close(part.table()[0], by_hand(part, 0))


def test_extra_rows_stand_for_no_item():
    for identity in (True, False):
        part = vectors(identity=identity, n_extra=1)
        assert part.weight is not None
        torch.testing.assert_close(part(torch.tensor([3]))[0], part.weight[-1])
        assert part.table().shape == (3, 4)
        part.eval()
        with torch.no_grad():
            torch.testing.assert_close(part(torch.tensor([3]))[0], part.weight[-1])


def test_new_items_have_what_is_known_of_them():
    part = vectors().eval()
    new = ItemFeatures(torch.tensor([[0, 2]]), (2, 3), torch.tensor([[0.0, 0.0, 1.0]]))
    with torch.no_grad():
        old = part.table()
        more = part.grown(FEATURES.followed_by(new), 4)
        assert part.code is not None and part.project is not None
        assert part.table().shape == (3, 4)
        torch.testing.assert_close(more.table()[:3], old)
        torch.testing.assert_close(more.table()[3], part.code[1] + part.code[5] + part.project[2])
        assert list(more.state_dict()) == list(part.state_dict())


def test_a_table_begins_with_another_ones_rows_by_item():
    torch.manual_seed(0)
    codes, more = torch.tensor([[0], [1]]), torch.tensor([[1], [2], [0]])
    old = ItemVectors(2, 4, ItemFeatures(codes, (2,)), n_extra=1)
    new = ItemVectors(3, 4, ItemFeatures(more, (3,)), n_extra=1)
    fresh = new.weight[1].clone(), new.code[3].clone()
    new.take_over(old, torch.tensor([1, -1, 0]))
    assert torch.equal(new.weight[[0, 2, 3]], old.weight[[1, 0, 2]])  # the extra row goes along
    assert torch.equal(new.weight[1], fresh[0]) and torch.equal(new.code[3], fresh[1])
    assert torch.equal(new.code[:3], old.code)
    cold = ItemVectors(3, 4, ItemFeatures(more, (3,), warm=torch.tensor([True, True, False])))
    cold.take_over(ItemVectors(2, 4, ItemFeatures(codes, (2,))), torch.tensor([1, -1, 0]))
    assert (cold.weight[2] == 0).all()  # an item without an identity stays without
