"""From a trained network and histories of one length to the function the search asks."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from sidrec.decoding.beam import pick
from sidrec.decoding.diffusion import Predict
from sidrec.decoding.host import may_look

ROW_TOKENS = 8192
"""Tokens per forward pass of the repeated-history way: larger temporaries only cost page faults."""


class CodePredictor(Protocol):
    """What the search needs of a network: a `MaskPredictor`, or its exported graphs run by another engine."""

    @property
    def history_is_fixed(self) -> bool: ...

    @property
    def device(self) -> torch.device: ...

    def cache_history(self, history: Tensor) -> tuple[Any, Tensor]: ...

    def cached_log_probs(self, codes: Tensor, history: Any, n_history: int, slots: Tensor) -> Tensor: ...

    def beam_log_probs(self, history: Tensor, codes: Tensor, slots: Tensor) -> Tensor: ...


def make_predict(network: CodePredictor, items: Tensor, *, frozen_history: bool = False) -> Predict:
    """The fastest exact way the attention pattern allows; `items` (users, length) are the histories, newest last.

    Where the history never sees the target its keys and values are computed once and shared by all beams and steps.
    Elsewhere the history goes along with every beam: only what comes before it first sees the target is shared, and the
    last layer is cut to the target's rows.
    `frozen_history` shares them all the same: an approximation for patterns in which the history sees the target.
    """
    items = items.to(network.device)
    if network.history_is_fixed or frozen_history:
        return _shared_history(network, items)
    return _repeated_history(network, items)


def _shared_history(network: CodePredictor, items: Tensor) -> Predict:
    history, first = network.cache_history(items)

    def predict(codes: Tensor, slots: Tensor) -> Tensor:
        if codes.shape[1] == 1 and _all_masked(codes, slots):
            return pick(first.unsqueeze(1), slots)
        return network.cached_log_probs(codes, history, items.shape[1], slots)

    return predict


def _all_masked(codes: Tensor, slots: Tensor) -> bool:
    """Whether this is the first step, whose answer is there; where looking is dear it may be computed again."""
    return slots.shape[-1] == codes.shape[-1] or (may_look(codes.device) and bool((codes < 0).all()))


def _repeated_history(network: CodePredictor, items: Tensor) -> Predict:
    def predict(codes: Tensor, slots: Tensor) -> Tensor:
        users, beams, n_codes = codes.shape
        rows = max(1, ROW_TOKENS // ((items.shape[1] + 1) * n_codes))  # beams of all users that go together
        found = []
        for some in torch.arange(users).split(max(1, rows // beams)):  # type: ignore[no-untyped-call]
            parts = zip(codes[some].split(rows, 1), slots[some].split(rows, 1), strict=True)  # type: ignore[no-untyped-call]
            found.append(torch.cat([network.beam_log_probs(items[some], *part) for part in parts], 1))
        return torch.cat(found)

    return predict
