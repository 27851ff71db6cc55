from __future__ import annotations

import numpy as np
import torch

from sidrec.sids.item_tokens import MASKED, PADDING, ItemTokens

CODES = np.array([[0, 0, 0], [1, 4, 2]], dtype=np.int32)


def test_items_to_codes_to_tokens_by_hand() -> None:
    """PAD, MASK and BOS are 0, 1 and 2; the slots' tokens begin at 3, 5 and 10."""
    table = ItemTokens(CODES, (2, 5, 3))
    codes = table.codes_of(torch.tensor([[1, 0], [-1, 1]]))
    assert codes.dtype == torch.int64
    assert codes.tolist() == [[[1, 4, 2], [0, 0, 0]], [[PADDING] * 3, [1, 4, 2]]]
    assert table.tokens_of(codes).tolist() == [[[4, 9, 12], [3, 5, 10]], [[0, 0, 0], [4, 9, 12]]]
    assert table.tokens_of(torch.tensor([MASKED, 4, MASKED])).tolist() == [1, 9, 1]


def test_the_table_is_not_learned() -> None:
    table = ItemTokens(CODES, (2, 5, 3))
    assert not table.state_dict() and not list(table.parameters())
