"""From a trained network and histories of one length to the function the search asks."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from sidrec.decoding.diffusion import Predict
from sidrec.models.llada_rec.network import MaskPredictor

ROW_TOKENS = 8192
"""Tokens per forward pass of the repeated-history way: larger temporaries only cost page faults."""


class CodePredictor(Protocol):
    """What the search needs of a network: a `MaskPredictor`, or its exported graphs run by another engine."""

    @property
    def history_is_fixed(self) -> bool: ...

    def tokens_of(self, codes: Tensor) -> Tensor: ...

    def cache_history(self, tokens: Tensor) -> tuple[Any, Tensor]: ...

    def cached_log_probs(self, codes: Tensor, history: Any, n_history: int) -> Tensor: ...

    def target_log_probs(self, tokens: Tensor) -> Tensor: ...


def make_predict(network: CodePredictor, tokens: Tensor, *, frozen_history: bool = False) -> Predict:
    """The fastest exact way the attention pattern allows; `tokens` (users, items, n_codes) are the histories.

    Where the history never sees the target its keys and values are computed once and shared by all beams and steps.
    Elsewhere the history goes along with every beam, and only the last layer is cut to the target's rows.
    `frozen_history` shares them all the same: an approximation for patterns in which the history sees the target.
    """
    if network.history_is_fixed or frozen_history:
        return _shared_history(network, tokens)
    return _repeated_history(network, tokens)


def _shared_history(network: CodePredictor, tokens: Tensor) -> Predict:
    history, first = network.cache_history(tokens)

    def predict(codes: Tensor) -> Tensor:
        if codes.shape[1] == 1 and bool((codes < 0).all()):
            return first.unsqueeze(1)
        return network.cached_log_probs(codes, history, tokens.shape[1])

    return predict


def _repeated_history(network: CodePredictor, tokens: Tensor) -> Predict:
    def predict(codes: Tensor) -> Tensor:
        users, beams, n_codes = codes.shape
        target = network.tokens_of(codes).to(tokens.dtype)
        past = tokens[:, None].expand(-1, beams, -1, -1)
        rows = torch.cat([past, target.unsqueeze(2)], 2).flatten(0, 1)  # (users * beams, items + 1, n_codes)
        at_once = max(1, ROW_TOKENS // (rows.shape[1] * n_codes))
        parts = (rows[start : start + at_once] for start in range(0, len(rows), at_once))
        found = [network.target_log_probs(part) for part in parts]
        return torch.cat(found).view(users, beams, n_codes, -1)

    return predict


def literal_predict(network: MaskPredictor, tokens: Tensor) -> Predict:
    """The published way, for measuring and checking: every row of every copy, all layers, all logits."""

    def predict(codes: Tensor) -> Tensor:
        users, beams, n_codes = codes.shape
        target = network.tokens_of(codes).to(tokens.dtype)
        past = tokens.repeat_interleave(beams, 0)
        rows = torch.cat([past, target.flatten(0, 1)[:, None]], 1)
        every = network.log_probs(network.hidden(rows))  # (users * beams, items + 1, n_codes, K)
        return every[:, -1].view(users, beams, n_codes, -1)

    return predict
