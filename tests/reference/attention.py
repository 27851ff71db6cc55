"""A Transformer layer written out token by token, in float64, straight from its definition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rms_norm(x: Array, gain: Array) -> Array:
    return x / np.sqrt((x * x).mean() + 1e-6) * gain


def block(x: Array, weights: dict[str, Array], n_heads: int, mask: NDArray[np.bool_]) -> Array:
    """One sequence (length, d_model); `mask[i, j]` says whether token i sees token j."""
    length, d_model = x.shape
    d_head = d_model // n_heads
    normed = [rms_norm(row, weights["norm_attention.weight"]) for row in x]
    projected = [weights["project_qkv.weight"] @ row for row in normed]
    out = np.zeros_like(x)
    for i in range(length):
        mixed = np.zeros(d_model)
        for head in range(n_heads):
            part = slice(head * d_head, (head + 1) * d_head)
            query = projected[i][:d_model][part]
            seen = [j for j in range(length) if mask[i, j]]
            scores = [query @ projected[j][d_model : 2 * d_model][part] / np.sqrt(d_head) for j in seen]
            shares = np.exp(scores - np.max(scores))
            shares /= shares.sum()
            mixed[part] = sum(s * projected[j][2 * d_model :][part] for s, j in zip(shares, seen, strict=True))
        after = x[i] + weights["project_out.weight"] @ mixed
        gate, up = np.split(weights["gate_and_up.weight"] @ rms_norm(after, weights["norm_mlp.weight"]), 2)
        out[i] = after + weights["down.weight"] @ (gate / (1.0 + np.exp(-gate)) * up)
    return out
