"""The live beams of every user as one value: whatever belongs to a beam moves with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Beams:
    """Best first for each user. A score of -inf marks a dead beam: it only fills the tensor and never comes back."""

    codes: Tensor  # (users, beams, n_codes) int64, -1 where masked
    scores: Tensor  # (users, beams)            total log-probability
    pending: Tensor  # (users, beams, left)      slots still to fill in this step, next one first
    log_probs: Tensor  # (users, beams, left, K)   of those slots, as predicted when the step began

    @classmethod
    def start(cls, n_users: int, n_codes: int, device: torch.device | None = None) -> Self:
        """One beam, everything masked, score 0."""
        return cls(
            codes=torch.full((n_users, 1, n_codes), -1, device=device),
            scores=torch.zeros(n_users, 1, device=device),
            pending=torch.empty(n_users, 1, 0, dtype=torch.long, device=device),
            log_probs=torch.empty(n_users, 1, 0, 0, device=device),
        )

    def cpu(self) -> Beams:
        return Beams(*(part.cpu() for part in self.parts()))

    def __len__(self) -> int:
        """Beams per user."""
        return self.scores.shape[1]

    def take(self, parents: Tensor) -> Beams:
        """The beams (users, n) named by their numbers, with everything that belongs to them."""
        first = torch.arange(len(parents), device=parents.device).unsqueeze(1) * len(self)
        rows = (parents + first).view(-1)
        taken = (part.flatten(0, 1).index_select(0, rows) for part in self.parts())
        return Beams(*(part.view(*parents.shape, *part.shape[1:]) for part in taken))

    def cut(self, start: int, end: int) -> Beams:
        return Beams(*(part[:, start:end] for part in self.parts()))

    def beside(self, other: Beams) -> Beams:
        """Both, this one's beams first."""
        return Beams(*(torch.cat(pair, dim=1) for pair in zip(self.parts(), other.parts(), strict=True)))

    def extend(self, parents: Tensor, codes: Tensor, scores: Tensor) -> Beams:
        """Children (users, n): each takes a code in its parent's next pending slot, which is pending no more."""
        slots = self.pending[:, :, 0].gather(1, parents).unsqueeze(-1)
        left = replace(self, pending=self.pending[:, :, 1:], log_probs=self.log_probs[:, :, 1:])
        children = left.take(parents)
        return replace(children, codes=children.codes.scatter(2, slots, codes.unsqueeze(-1)), scores=scores)

    def parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.codes, self.scores, self.pending, self.log_probs


def pick(values: Tensor, index: Tensor) -> Tensor:
    """values (*lead, n, *rest), index (*lead, m) -> (*lead, m, *rest): whole entries, chosen for each lead."""
    lead = index.shape[:-1]
    n, rest = values.shape[len(lead)], values.shape[len(lead) + 1 :]
    flat_index = index.reshape(-1, index.shape[-1])
    first = torch.arange(len(flat_index), device=index.device).unsqueeze(1) * n
    chosen = values.flatten(0, len(lead)).index_select(0, (flat_index + first).view(-1))
    return chosen.view(*index.shape, *rest)
