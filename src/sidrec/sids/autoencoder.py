"""The auto-encoder shell around the quantiser, and the loss it is trained with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from sidrec.sids.codebook import Codebooks, Quantised


def reconstruction_loss(inputs: Tensor, restored: Tensor) -> Tensor:
    """Eq. vq_loss, L_Recon: ||v - v^||^2 of each item."""
    return (inputs - restored).square().sum(-1)


def quantisation_loss(targets: Tensor, chosen: Tensor, commitment_weight: float) -> Tensor:
    """Eq. vq_loss, L_VQ: sum_m ||sg[z_m] - e_m||^2 + alpha ||z_m - sg[e_m]||^2 of each item."""
    codebook = (targets.detach() - chosen).square().sum((-2, -1))
    commitment = (targets - chosen.detach()).square().sum((-2, -1))
    return codebook + commitment_weight * commitment


def straight_through(latents: Tensor, quantised: Tensor) -> Tensor:
    """The quantised values forwards, the latents' gradient backwards."""
    return latents + (quantised - latents).detach()


@dataclass(frozen=True)
class Passed:
    """A batch on its way through: its reconstruction and what the quantiser did."""

    restored: Tensor
    quantised: Quantised


class QuantisedAutoencoder(nn.Module):
    """encoder -> codebooks -> decoder.

    Parallel: the latent is n_codes slices, each with a codebook of its own, and the decoder sees all chosen codes.
    Residual: the latent is one vector, each codebook quantises what is left, and the decoder sees the codes' sum.
    """

    def __init__(
        self, width: int, sizes: tuple[int, ...], code_width: int, hidden: tuple[int, ...], *, residual: bool
    ) -> None:
        super().__init__()
        self.is_residual = residual
        latent = code_width if residual else code_width * len(sizes)
        self.encoder = mlp((width, *hidden, latent))
        self.decoder = mlp((latent, *reversed(hidden), width))
        self.books = Codebooks(sizes, code_width)

    def latents(self, inputs: Tensor) -> Tensor:
        """(n, n_codes, code_width), or (n, code_width) where residual."""
        latents: Tensor = self.encoder(inputs)
        return latents if self.is_residual else latents.view(len(inputs), len(self.books.sizes), -1)

    def quantise(self, latents: Tensor) -> Quantised:
        return self.books.residual(latents) if self.is_residual else self.books.parallel(latents)

    def decode(self, latents: Tensor) -> Tensor:
        restored: Tensor = self.decoder(latents if self.is_residual else latents.flatten(1))
        return restored

    def joined(self, chosen: Tensor) -> Tensor:
        """Chosen code vectors (n, n_codes, code_width) in the shape of latents."""
        return chosen.sum(1) if self.is_residual else chosen

    def forward(self, inputs: Tensor) -> Passed:
        latents = self.latents(inputs)
        quantised = self.quantise(latents)
        return Passed(self.decode(straight_through(latents, self.joined(quantised.chosen))), quantised)

    @torch.no_grad()
    def start_codebooks(self, inputs: Tensor, seed: int) -> None:
        """k-means start of every codebook on the latents as they are now."""
        latents = self.latents(inputs)
        for slot in range(len(self.books.sizes)):
            targets = self.books.residual(latents).targets if self.is_residual else latents
            self.books.start_slot(slot, targets[:, slot], seed + slot)


def mlp(widths: tuple[int, ...]) -> nn.Sequential:
    """Linear layers with GELU between them."""
    layers: list[nn.Module] = []
    for width, following in pairwise(widths):
        layers += [nn.Linear(width, following), nn.GELU()]
    return nn.Sequential(*layers[:-1])
