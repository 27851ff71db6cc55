from __future__ import annotations

import pytest
import torch

from sidrec.models.llada_rec_plus.config import LLaDARecPlusSettings
from sidrec.models.llada_rec_plus.network import PlusNetwork
from sidrec.models.sasrec import SASRecNetwork, SASRecSettings
from sidrec.nn.item_vectors import ItemFeatures

CODES = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, -1]])
FEATURES = ItemFeatures(CODES, (3, 2), torch.randn(6, 3, generator=torch.Generator().manual_seed(1)))
SIZES = {"d_model": 8, "n_layers": 2, "max_history": 5}


def network(**values: object) -> PlusNetwork:
    torch.manual_seed(0)
    return PlusNetwork(6, LLaDARecPlusSettings(**{**SIZES, **values}), FEATURES).eval()  # type: ignore[arg-type]


def test_without_codes_text_and_noise_and_with_places_it_is_sasrec():
    torch.manual_seed(3)
    theirs = SASRecNetwork(9, SASRecSettings(**SIZES)).eval()  # type: ignore[arg-type]
    ours = PlusNetwork(9, LLaDARecPlusSettings(**SIZES, positions="absolute")).eval()  # type: ignore[arg-type]
    weights = {name.replace("transformer.", "encoder.transformer."): w for name, w in theirs.state_dict().items()}
    ours.load_state_dict({**weights, "repeat.rho": torch.zeros(1)})
    histories = torch.tensor([[1, 2, 3], [8, 0, 8]])
    for mine, expected in (
        (ours.hidden(histories), theirs.hidden(histories)),
        (ours.queries(histories) @ ours.item_table().T, theirs.queries(histories) @ theirs.item_table().T),
    ):
        torch.testing.assert_close(mine, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("encoder", ["attention", "lru", "gru", "filter"])
@pytest.mark.parametrize("target_row", [True, False])
@pytest.mark.parametrize("positions", ["absolute", "relative"])
def test_all_targets_of_a_pass_are_what_each_would_be_alone(encoder, target_row, positions):
    one = network(encoder=encoder, target_row=target_row, positions=positions)
    for weights in one.parameters():
        torch.nn.init.normal_(weights, std=0.3)
    items = torch.tensor([[1, 2, 3, 4], [5, 0, 5, 2]])
    together = one.hidden(items)
    for place in range(4):
        torch.testing.assert_close(together[:, place], one.queries(items[:, : place + 1]), rtol=1e-4, atol=1e-5)


def test_the_target_row_is_what_is_visible_of_it_masks_and_the_last_item():
    one = network(encoder="attention", target_row=True, positions="absolute")
    assert one.positions is not None and one.mask is not None
    assert one.items.code is not None
    seen: list[torch.Tensor] = []
    one.encoder.after = lambda history, targets, places: seen.append(targets) or targets  # type: ignore[method-assign]
    shown = one.items.tokens_of(torch.tensor([3])) * torch.tensor([0, 1])
    one.queries_given(torch.tensor([[4, 2]]), shown)
    last = one.items(torch.tensor([2]))[0] + one.positions.weight[1]
    code = one.items.code[1 + 3 + 1]  # slot 1 begins behind the unknown row and the 3 codes of slot 0
    expected = one.mask[0] + code + last + one.positions.weight[2]
    torch.testing.assert_close(seen[0].flatten(), expected)


def test_what_is_visible_changes_the_query():
    one = network(target_row=True)
    history = torch.tensor([[1, 2]])
    tokens = one.items.tokens_of(torch.tensor([3]))
    assert not torch.allclose(one.queries_given(history, tokens), one.queries(history))
    torch.testing.assert_close(one.queries_given(history, tokens * 0), one.queries(history))
