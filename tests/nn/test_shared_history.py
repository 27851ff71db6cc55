"""The shared first layer and the last layer of few rows equal the whole layer on every sequence alone."""

from __future__ import annotations

import pytest
import torch

from sidrec.nn.attention_masks import attention_mask, sequence_tokens
from sidrec.nn.shared_history import few_rows, gather_history, with_targets
from sidrec.nn.transformer import TransformerBlock

N_HISTORY, N_CODES, D = 3, 2, 8


@pytest.mark.parametrize("pattern", ["bidirectional", "intra-item-causal"])
@pytest.mark.parametrize("size", [0.5, 6.0])  # large weights: scores far beyond what exp can take
@torch.no_grad()
def test_every_target_sees_and_is_seen_as_if_alone(pattern: str, size: float) -> None:
    torch.manual_seed(1)
    block = TransformerBlock(D, n_heads=2, d_ff=12).eval()
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter, std=size)
    history, targets = torch.randn(2, N_HISTORY * N_CODES, D), torch.randn(2, 4, N_CODES, D)
    mask = attention_mask(pattern, sequence_tokens(N_HISTORY, N_CODES))
    n = history.shape[1]
    found = with_targets(block, gather_history(block, history, mask[:n, :n]), targets, mask[n:, n:])
    for user in range(2):
        for number in range(4):
            alone = block(torch.cat([history[user], targets[user, number]])[None], mask)[0]
            torch.testing.assert_close(found[user, number], alone, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("pattern", ["bidirectional", "intra-item-causal"])
@torch.no_grad()
def test_few_rows_equal_those_of_the_whole_layer(pattern: str) -> None:
    torch.manual_seed(1)
    block = TransformerBlock(D, n_heads=2, d_ff=12).eval()
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    x, rows = torch.randn(3, 8, D), torch.tensor([[6, 7], [7, 6], [0, 3]])
    mask = None if pattern == "bidirectional" else attention_mask(pattern, sequence_tokens(N_HISTORY, N_CODES))
    torch.testing.assert_close(few_rows(block, x, rows, mask), block(x, mask, rows=rows), rtol=1e-4, atol=1e-5)
