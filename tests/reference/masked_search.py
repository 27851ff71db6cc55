"""Generation by unmasking, written as literally as it is told: tuples, loops, Python numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from itertools import product
from math import inf

import numpy as np
import torch

from sidrec.decoding.diffusion import Predict

Codes = tuple[int, ...]
Table = Callable[[int, Codes], np.ndarray]
"""(user, codes with -1 where masked) -> log-probabilities (M, K)."""
Ranked = list[tuple[float, Codes]]
MASK = -1


def hashed_table(n_codes: int, codebook_size: int, seed: int, grain: int = 64, sharpness: float = 1) -> Table:
    """Different predictions for every partly filled ID, so that the order matters.

    Multiples of 1 / grain: sums are exact in float32, so equal scores are equal in both programs. A coarse grain makes
    many ties.
    """

    def table(user: int, codes: Codes) -> np.ndarray:
        digest = hashlib.blake2b(f"{seed} {user} {codes}".encode(), digest_size=8).digest()
        rng = np.random.default_rng(int.from_bytes(digest, "little"))
        logits = sharpness * rng.normal(size=(n_codes, codebook_size))
        log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        return np.minimum(np.round(log_probs * grain) / grain, 0).astype(np.float32)

    return table


def of_asked_slots(every: Callable[[torch.Tensor], torch.Tensor]) -> Predict:
    """A function that predicts all slots, in the form the search takes."""

    def predict(codes: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        assert (codes.gather(-1, slots) == MASK).all(), "only masked slots are asked"
        log_probs = every(codes)
        return log_probs.gather(2, slots.unsqueeze(-1).expand(*slots.shape, log_probs.shape[-1]))

    return predict


def as_predict(table: Table, users: Iterable[int]) -> Predict:
    """The table in the form the search takes."""
    numbers = list(users)

    @of_asked_slots
    def predict(codes: torch.Tensor) -> torch.Tensor:
        rows = [
            [table(user, tuple(beam)) for beam in beams] for user, beams in zip(numbers, codes.tolist(), strict=True)
        ]
        return torch.from_numpy(np.array(rows))

    return predict


def may_take(beam: Codes, slot: int, code: int, real: set[Codes] | None) -> bool:
    """Some ID agrees with everything filled so far and with this code."""
    if real is None:
        return True
    wanted = (*beam[:slot], code, *beam[slot + 1 :])
    return any(all(w in (MASK, c) for w, c in zip(wanted, codes, strict=True)) for codes in real)


def slow_search(
    table: Table,
    user: int,
    shape: tuple[int, int],
    *,
    n_steps: int,
    beam_sizes: tuple[int, ...],
    order: str,
    real: set[Codes] | None,
) -> Ranked:
    """Best first. Equal scores: the better-ranked parent's child first, then the lower code."""
    n_codes, codebook_size = shape
    each = n_codes // n_steps
    beams: Ranked = [(0.0, (MASK,) * n_codes)]
    for step in range(n_steps):
        count = each if step < n_steps - 1 else n_codes - each * (n_steps - 1)
        live = []
        for score, codes in beams:
            predicted = table(user, codes)
            live.append((score, codes, predicted, pending_slots(predicted, codes, order, real)[:count]))
        for filled in range(count):
            children = []
            for score, codes, predicted, pending in live:
                slot = pending[filled]
                for code in range(codebook_size):
                    if may_take(codes, slot, code, real):
                        child = (*codes[:slot], code, *codes[slot + 1 :])
                        children.append((score + float(predicted[slot, code]), child, predicted, pending))
            children.sort(key=lambda child: -child[0])
            live = children[: beam_sizes[step]]
        beams = [(score, codes) for score, codes, _, _ in live]
    return beams


def pending_slots(predicted: np.ndarray, codes: Codes, order: str, real: set[Codes] | None) -> list[int]:
    masked = [slot for slot, code in enumerate(codes) if code == MASK]
    if order == "left-to-right":
        return masked
    if order == "right-to-left":
        return masked[::-1]
    real = None if order == "adaptive, all codes" else real
    surest = {
        slot: max(
            [float(p) for code, p in enumerate(predicted[slot]) if may_take(codes, slot, code, real)], default=-inf
        )
        for slot in masked
    }
    return sorted(masked, key=lambda slot: (-surest[slot], slot))


def enumerate_all(
    table: Table, user: int, shape: tuple[int, int], *, n_steps: int, order: str, real: set[Codes] | None
) -> dict[Codes, float]:
    """The score of every ID by walking its own path: no beams, no pruning."""
    n_codes, codebook_size = shape
    each = n_codes // n_steps
    scores = {}
    for goal in product(range(codebook_size), repeat=n_codes) if real is None else sorted(real):
        codes, total = (MASK,) * n_codes, 0.0
        for step in range(n_steps):
            count = each if step < n_steps - 1 else n_codes - each * (n_steps - 1)
            predicted = table(user, codes)
            for slot in pending_slots(predicted, codes, order, real)[:count]:
                total += float(predicted[slot, goal[slot]])
                codes = (*codes[:slot], goal[slot], *codes[slot + 1 :])
        scores[goal] = total
    return scores
