from __future__ import annotations

import pytest
import torch

from sidrec.sids.autoencoder import QuantisedAutoencoder, quantisation_loss, reconstruction_loss, straight_through


def test_loss_by_hand() -> None:
    """v = (1, 2), v^ = (0, 4); z = [(1), (3)], e = [(2), (3.5)]; alpha = 1/4 (Eq. vq_loss)."""
    recon = reconstruction_loss(torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 4.0]]))
    assert recon.tolist() == [5.0]  # 1 + 4
    targets, chosen = torch.tensor([[[1.0], [3.0]]]), torch.tensor([[[2.0], [3.5]]])
    assert quantisation_loss(targets, chosen, 0.25).tolist() == [1.5625]  # (1 + .25)(1 + .25)


def test_stop_gradients_split_the_loss() -> None:
    """d/de of ||sg[z] - e||^2 = 2(e - z); d/dz of alpha ||z - sg[e]||^2 = 2 alpha (z - e)."""
    targets = torch.tensor([[[1.0], [3.0]]], requires_grad=True)
    chosen = torch.tensor([[[2.0], [3.5]]], requires_grad=True)
    quantisation_loss(targets, chosen, 0.25).sum().backward()
    assert chosen.grad is not None and targets.grad is not None
    assert chosen.grad.flatten().tolist() == [2.0, 1.0]
    assert targets.grad.flatten().tolist() == [-0.5, -0.25]


def test_straight_through_gives_codes_forwards_and_the_gradient_to_the_latent() -> None:
    latents, codes = torch.tensor([1.0, 3.0], requires_grad=True), torch.tensor([2.0, 2.5], requires_grad=True)
    passed = straight_through(latents, codes)
    (passed * torch.tensor([3.0, 5.0])).sum().backward()
    assert passed.tolist() == [2.0, 2.5]
    assert latents.grad is not None and latents.grad.tolist() == [3.0, 5.0]
    assert codes.grad is None


@pytest.mark.parametrize("residual", [False, True])
def test_reconstruction_reaches_the_encoder_and_not_the_codebooks(residual: bool) -> None:
    torch.manual_seed(0)
    model = QuantisedAutoencoder(6, (4, 3), 2, (8,), residual=residual)
    inputs = torch.randn(10, 6)
    model.start_codebooks(inputs, 0)
    reconstruction_loss(inputs, model(inputs).restored).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.encoder.parameters())
    assert model.books.vectors.grad is None or model.books.vectors.grad.abs().sum() == 0


@pytest.mark.parametrize("residual", [False, True])
def test_quantisation_reaches_exactly_the_chosen_codes(residual: bool) -> None:
    torch.manual_seed(0)
    model = QuantisedAutoencoder(6, (5, 3), 2, (8,), residual=residual)
    inputs = torch.randn(4, 6)
    model.start_codebooks(torch.randn(40, 6), 0)
    quantised = model(inputs).quantised
    quantisation_loss(quantised.targets, quantised.chosen, 0.25).sum().backward()
    assert model.books.vectors.grad is not None
    moved = model.books.vectors.grad.abs().sum(-1) > 0
    for slot, size in enumerate((5, 3)):
        assert set(moved[slot, :size].nonzero().flatten().tolist()) == set(quantised.codes[:, slot].tolist())
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.encoder.parameters())
    assert all(p.grad is None for p in model.decoder.parameters())


def test_the_decoder_sees_all_parallel_codes_and_the_sum_of_residual_ones() -> None:
    chosen = torch.tensor([[[1.0, 2.0], [3.0, 5.0]]])
    assert QuantisedAutoencoder(4, (2, 2), 2, (), residual=True).joined(chosen).tolist() == [[4.0, 7.0]]
    parallel = QuantisedAutoencoder(4, (2, 2), 2, (), residual=False)
    with torch.no_grad():
        parallel.decoder[0].weight.copy_(torch.eye(4))
        parallel.decoder[0].bias.zero_()
    assert parallel.decode(parallel.joined(chosen)).tolist() == [[1.0, 2.0, 3.0, 5.0]]
