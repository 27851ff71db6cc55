from __future__ import annotations

import pytest
import torch

from reference.learning import cycle_recall, quick
from sidrec.models.diffurec import DiffuRec, DiffuRecNetwork, DiffuRecSettings


def network(**values: object) -> DiffuRecNetwork:
    torch.manual_seed(0)
    return DiffuRecNetwork(9, DiffuRecSettings(**{"d_model": 8, "max_history": 5, **values})).eval()


@pytest.mark.slow
def test_the_cycle_is_learned():
    assert cycle_recall(DiffuRec(**quick(epochs=5, batch_size=128))) > 0.9


def test_the_noisy_target_reaches_every_place_with_its_own_weight():
    """With weights delta * (1 + luck), luck -1 takes the target out of a place."""
    one = network(uncertainty=0.5)
    items, step = torch.tensor([[1, 2, 3]]), torch.tensor([4])
    shut = torch.full((1, 5, 8), -1.0)
    blind = [one.clean(items, torch.full((1, 8), value), step, shut) for value in (0.0, 3.0)]
    torch.testing.assert_close(blind[0], blind[1])
    for place in range(3):
        luck = shut.clone()
        luck[0, 2 + place] = 0.0
        seeing = [one.clean(items, torch.full((1, 8), value), step, luck) for value in (0.0, 3.0)]
        assert not torch.allclose(seeing[0], seeing[1])


def test_padding_changes_nothing():
    one = network()
    noisy, step, luck = torch.randn(1, 8), torch.tensor([4]), torch.randn(1, 5, 8)
    plain = one.clean(torch.tensor([[1, 2]]), noisy, step, luck)
    torch.testing.assert_close(one.clean(torch.tensor([[-1, -1, 1, 2]]), noisy, step, luck), plain)


def test_targets_have_the_variance_of_the_noise():
    vectors = network().targets(torch.arange(9))
    torch.testing.assert_close(vectors.square().mean(-1), torch.ones(9), rtol=1e-2, atol=0)


def test_the_reverse_process_is_repeatable_and_the_same_in_company():
    one = network(uncertainty=0.5)
    histories = torch.tensor([[1, 2], [5, 3], [8, 8]])
    together = one.queries(histories)
    torch.testing.assert_close(one.queries(histories[1:2]), together[1:2])
    assert torch.equal(one.queries(histories), together)


def test_one_jump_is_the_approximator_on_noise():
    one = network(inference_steps=1, uncertainty=0.0)
    free = torch.zeros(2, 5, 8)
    histories = torch.tensor([[1, 2], [5, 3]])
    direct = one.clean(histories, torch.zeros(2, 8), torch.tensor(32), free)
    torch.testing.assert_close(one.queries(histories), direct)
