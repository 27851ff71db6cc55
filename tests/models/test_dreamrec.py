from __future__ import annotations

import torch

from reference.learning import cycle_recall, quick
from sidrec.models.dreamrec import DreamRec, DreamRecNetwork, DreamRecSettings


def network(**values: object) -> DreamRecNetwork:
    torch.manual_seed(0)
    settings = DreamRecSettings(d_model=8, max_history=5, n_steps=20, inference_steps=4, **values)
    return DreamRecNetwork(9, settings).eval()


def test_the_cycle_is_learned():
    assert cycle_recall(DreamRec(**quick(inference_steps=4))) > 0.9


def test_item_vectors_have_the_variance_of_the_noise():
    table = network().item_table()
    torch.testing.assert_close(table.square().mean(-1), torch.ones(9), rtol=1e-3, atol=0)


def test_guidance_of_zero_is_the_unguided_model():
    one = network()
    noisy, condition, step = torch.randn(3, 8), torch.randn(3, 8), torch.tensor(7)
    plain = one.clean(noisy, condition, step)
    assert torch.equal(one.guided_clean(noisy, condition, step, 0.0), plain)
    assert not torch.allclose(one.guided_clean(noisy, condition, step, 2.0), plain)


def test_guidance_moves_away_from_the_guess_without_a_history():
    one = network()
    noisy, condition, step = torch.randn(3, 8), torch.randn(3, 8), torch.tensor(7)
    plain, blind = one.clean(noisy, condition, step), one.clean(noisy, one.nothing.expand(3, 8), step)
    torch.testing.assert_close(one.guided_clean(noisy, condition, step, 1.5), plain + 1.5 * (plain - blind))


def test_the_future_changes_no_condition():
    one = network()
    past = one.hidden(torch.tensor([[1, 2, 3, 4]]))[:, :2]
    torch.testing.assert_close(past, one.hidden(torch.tensor([[1, 2, 7, 8]]))[:, :2])


def test_generation_is_repeatable_and_the_same_in_company():
    one = network(eta=1.0)
    histories = torch.tensor([[1, 2], [5, 3], [8, 8]])
    together = one.queries(histories)
    torch.testing.assert_close(one.queries(histories[1:2]), together[1:2])
    assert torch.equal(one.queries(histories), together)


def test_fresh_noise_changes_the_path():
    histories = torch.tensor([[1, 2]])
    assert not torch.allclose(network(eta=1.0).queries(histories), network(eta=0.0).queries(histories))
