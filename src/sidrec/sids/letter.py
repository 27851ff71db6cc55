"""LETTER's tokenizer: an RQ-VAE whose codes are also to agree with who had the items, and to be used evenly.

L = L_sem + alpha L_CF + beta L_div: the RQ-VAE's own loss (semantic regularisation), a contrastive loss with the item
vectors of a trained model (collaborative regularisation), and one that draws the codes of a group together and apart
from all others (diversity regularisation).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, cast

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from sidrec.sids.autoencoder import QuantisedAutoencoder, straight_through
from sidrec.sids.base import TokenizerSettings
from sidrec.sids.code_groups import even_groups, partners
from sidrec.sids.input_space import InputSpace
from sidrec.sids.inputs import Floats, TokenizerInputs
from sidrec.sids.rq_vae import RQVAE, RQVAESettings
from sidrec.sids.vae_tokenizer import QuantisationObjective
from sidrec.training.objective import Batch, Losses


class LetterSettings(RQVAESettings):
    """Our losses are sums over the input's numbers where LETTER's are means, so its weights are larger here."""

    alignment_weight: float = Field(1.0, ge=0)
    """Weight of the collaborative term (alpha); with 0 no collaborative vectors are needed."""
    diversity_weight: float = Field(0.01, ge=0)
    """Weight of the diversity term (beta)."""
    n_groups: int = Field(10, ge=1)
    """Groups of equal size into which the codes of a slot are clustered after every epoch."""


def alignment_loss(quantised: Tensor, collaborative: Tensor, own: Tensor) -> Tensor:
    """L_CF of each item: -log softmax_j <z^_i, h_j> at its own row of the batch's collaborative vectors."""
    return F.cross_entropy(quantised @ collaborative.mT, own, reduction="none")


def diversity_loss(vectors: Tensor, codes: Tensor, positives: Tensor) -> Tensor:
    """L_div of each item, mean over slots: -log softmax_j <e_c, e_j> over the slot's other codes, at one of c's group.

    Codes and positives (n, n_codes); where a code has no other in its group, it is its own positive and costs nothing.
    """
    slots = torch.arange(codes.shape[1], device=codes.device)
    logits = torch.einsum("nmd,mkd->nmk", vectors[slots, codes], vectors)
    itself = F.one_hot(codes, vectors.shape[1]).bool()
    logits = logits.masked_fill(itself & (positives != codes).unsqueeze(-1), -torch.inf)
    losses = -logits.log_softmax(-1).gather(-1, positives.unsqueeze(-1)).squeeze(-1)
    return torch.where(positives == codes, 0.0, losses).mean(-1)


class GroupedAutoencoder(QuantisedAutoencoder):
    """`groups[m, k]` is the group of code k of slot m; -1 where a slot has no such code."""

    groups: Tensor

    def __init__(self, width: int, sizes: tuple[int, ...], code_width: int, hidden: tuple[int, ...], n_groups: int):
        super().__init__(width, sizes, code_width, hidden, residual=True)
        self.n_groups = n_groups
        self.register_buffer("groups", torch.zeros(len(sizes), max(sizes), dtype=torch.long))

    def start_codebooks(self, inputs: Tensor, seed: int) -> None:
        super().start_codebooks(inputs, seed)
        self.regroup()

    @torch.no_grad()
    def regroup(self) -> None:
        """Constrained k-means of the codes as they are now."""
        self.groups.fill_(-1)
        for slot, size in enumerate(self.books.sizes):
            points = self.books.vectors[slot, :size].float().cpu().numpy()
            self.groups[slot, :size] = torch.from_numpy(even_groups(points, self.n_groups)).to(self.groups.device)


class LetterObjective(QuantisationObjective):
    """The RQ-VAE's loss and the two other terms; `collaborative` (n_items, code_width)."""

    def __init__(self, inputs: Floats, settings: LetterSettings, collaborative: Floats | None) -> None:
        super().__init__(inputs, settings)
        self.alignment_weight, self.diversity_weight = settings.alignment_weight, settings.diversity_weight
        self.collaborative = None if collaborative is None else torch.from_numpy(collaborative)

    def parts(self, module: nn.Module, batch: Batch) -> Iterator[Losses]:
        model = cast(GroupedAutoencoder, module)
        draws = torch.rand(len(batch.rows), len(model.books.sizes), generator=batch.generator)[batch.mine]
        for semantic in super().parts(model, batch):
            terms = self._further(model, batch, draws)
            total = semantic.total + sum(terms.values(), torch.zeros(()))
            yield Losses(total, {**semantic.terms, **{name: term.detach() for name, term in terms.items()}})

    def _further(self, model: GroupedAutoencoder, batch: Batch, draws: Tensor) -> dict[str, Tensor]:
        """The weighted terms; items of the whole batch are each other's negatives, whoever computes them."""
        latents = model.latents(self._on_device(model, self.inputs[torch.from_numpy(batch.rows[batch.mine])]))
        quantised, n_rows = model.quantise(latents), len(batch.rows)
        positives = partners(model.groups, quantised.codes, draws.to(latents.device))
        diverse = diversity_loss(model.books.vectors, quantised.codes, positives).sum() / n_rows
        terms = {"diversity": self.diversity_weight * diverse}
        if self.collaborative is not None and self.alignment_weight > 0:
            other = self._on_device(model, self.collaborative[torch.from_numpy(batch.rows)])
            own = torch.arange(n_rows, device=latents.device)[batch.mine]
            joined = straight_through(latents, quantised.chosen.sum(1))
            terms["alignment"] = self.alignment_weight * alignment_loss(joined, other, own).sum() / n_rows
        return terms

    def after_epoch(self, module: nn.Module, epoch: int, generator: torch.Generator) -> dict[str, float]:
        figures = super().after_epoch(module, epoch, generator)
        cast(GroupedAutoencoder, module).regroup()
        return figures


class Letter(RQVAE):
    """Learns from text and behaviour; afterwards the text alone gives an item its codes, so new items get theirs."""

    key: ClassVar[str] = "letter"
    settings_class: ClassVar[type[TokenizerSettings]] = LetterSettings
    settings: LetterSettings

    @property
    def needs_collaborative(self) -> bool:
        return self.settings.inputs == "both" or self.settings.alignment_weight > 0

    def _objective(self, inputs: Floats, given: TokenizerInputs) -> QuantisationObjective:
        return LetterObjective(inputs, self.settings, self._aligned_with(given))

    def _aligned_with(self, given: TokenizerInputs) -> Floats | None:
        """The collaborative vectors on their whitened principal axes, as wide as a code."""
        if given.collaborative is None:
            return None
        width = self.settings.code_width
        axes = InputSpace.fit(given.collaborative, width, whiten=True).apply(given.collaborative)[:, :width]
        return np.pad(axes, ((0, 0), (0, width - axes.shape[1]))).astype(np.float32)

    def _build(self, width: int) -> QuantisedAutoencoder:
        settings = self.settings
        return GroupedAutoencoder(width, self.codebook_sizes, settings.code_width, settings.hidden, settings.n_groups)
