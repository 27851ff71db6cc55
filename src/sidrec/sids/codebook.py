"""THE quantiser layer: M codebooks, the nearest code in each, and what keeps all codes in use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sidrec.sids.kmeans import kmeans


@dataclass(frozen=True)
class Quantised:
    """What each slot was asked to quantise, the code it chose and that code's vector."""

    targets: Tensor  # (n, n_codes, width): latent slices, or residuals
    codes: Tensor  # (n, n_codes)
    chosen: Tensor  # (n, n_codes, width)


class Codebooks(nn.Module):
    """`vectors[m, k]` is code k of slot m; slots with fewer codes than the largest ignore the rows beyond their own."""

    beyond: Tensor
    used: Tensor

    def __init__(self, sizes: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.sizes, self.width = sizes, width
        self.vectors = nn.Parameter(torch.zeros(len(sizes), max(sizes), width))
        beyond = torch.arange(max(sizes)) >= torch.tensor(sizes).unsqueeze(1)  # (n_codes, max K)
        self.register_buffer("beyond", beyond, persistent=False)
        self.register_buffer("used", torch.zeros(len(sizes), max(sizes)))

    def distances(self, targets: Tensor) -> Tensor:
        """Squared L2 from each slot's target (n, n_codes, width) to each of its codes: (n, n_codes, max K)."""
        return self._distances(targets, self.vectors, self.beyond)

    def slot_distances(self, slot: int, targets: Tensor) -> Tensor:
        """The same for one slot: targets (n, width) give (n, max K)."""
        own = slice(slot, slot + 1)
        return self._distances(targets.unsqueeze(1), self.vectors[own], self.beyond[own]).squeeze(1)

    @staticmethod
    def _distances(targets: Tensor, vectors: Tensor, beyond: Tensor) -> Tensor:
        by_slot = targets.transpose(0, 1)  # (n_codes, n, width)
        lengths = by_slot.square().sum(-1, keepdim=True) + vectors.square().sum(-1).unsqueeze(1)
        squared = torch.baddbmm(lengths, by_slot, vectors.transpose(1, 2), alpha=-2).clamp_min(0)
        return squared.masked_fill(beyond.unsqueeze(1), torch.inf).transpose(0, 1)

    def take(self, codes: Tensor) -> Tensor:
        """Vectors of codes (n, n_codes): (n, n_codes, width)."""
        return self.vectors[torch.arange(len(self.sizes), device=codes.device), codes]

    def parallel(self, latents: Tensor) -> Quantised:
        """Eq. vq_quantization: every slice (n, n_codes, width) is quantised on its own."""
        with torch.no_grad():
            codes = self.distances(latents).argmin(-1)
        return Quantised(latents, codes, self.take(codes))

    def residual(self, latents: Tensor) -> Quantised:
        """Every slot quantises what the slots before it left of the latent (n, width)."""
        left, targets, codes, chosen = latents, [], [], []
        for slot in range(len(self.sizes)):
            with torch.no_grad():
                code = self.slot_distances(slot, left).argmin(-1)
            targets.append(left)
            codes.append(code)
            chosen.append(self.vectors[slot, code])
            left = left - chosen[-1].detach()
        return Quantised(torch.stack(targets, 1), torch.stack(codes, 1), torch.stack(chosen, 1))

    @torch.no_grad()
    def residual_distances(self, latents: Tensor, codes: Tensor) -> Tensor:
        """Squared L2 from the latent (n, width) to the sum of all codes, for each code a slot could have instead."""
        chosen = self.take(codes)
        others = chosen.sum(1, keepdim=True) - chosen
        return self.distances(latents.unsqueeze(1) - others)

    @torch.no_grad()
    def start_slot(self, slot: int, targets: Tensor, seed: int) -> None:
        """Begin with the k-means centres of what this slot will see."""
        centres = kmeans(_array(targets), self.sizes[slot], seed)
        self.vectors[slot, : self.sizes[slot]] = torch.from_numpy(centres).to(self.vectors)

    @torch.no_grad()
    def count(self, codes: Tensor) -> None:
        """Add to the use of each code since the last `restart_dead`."""
        self.used.scatter_add_(1, codes.T, torch.ones_like(codes.T, dtype=self.used.dtype))

    def share_used(self) -> Tensor:
        """Share of all codes that were chosen since the last `restart_dead`."""
        return (self.used > 0).sum() / sum(self.sizes)

    @torch.no_grad()
    def restart_dead(self, targets: Tensor, generator: torch.Generator) -> int:
        """Move codes that nothing chose to targets (n, n_codes, width) that are badly served; returns how many.

        Targets are drawn in proportion to their squared distance from the nearest code, as k-means++ does.
        """
        dead = (self.used == 0) & ~self.beyond
        nearest = self.distances(targets).amin(-1) if dead.any() else None  # (n, n_codes)
        for slot in range(len(self.sizes)):
            codes = dead[slot].nonzero().squeeze(1)
            if nearest is None or len(codes) == 0:
                continue
            spread = nearest[:, slot].double().cpu()
            able = int((spread > 0).sum())
            if able:
                drawn = torch.multinomial(spread, min(len(codes), able), generator=generator).to(targets.device)
                self.vectors[slot, codes[: len(drawn)]] = targets[drawn, slot].to(self.vectors)
        self.used.zero_()
        return int(dead.sum())


def _array(values: Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(values.detach().float().cpu().numpy())
