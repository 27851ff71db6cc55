"""Pictures: rows look, columns are looked at; two history items A, B and the target T, two slots each."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sidrec.nn.attention_masks import attention_mask, one_pass_mask, sequence_tokens, target_mask, without_padding

PICTURES = {
    "bidirectional": """
        AA BB TT
        XXXXXX
        XXXXXX
        XXXXXX
        XXXXXX
        XXXXXX
        XXXXXX""",
    "causal": """
        AA BB TT
        X.....
        XX....
        XXX...
        XXXX..
        XXXXX.
        XXXXXX""",
    "inter-item-causal": """
        AA BB TT
        XX....
        XX....
        XXXX..
        XXXX..
        XXXXXX
        XXXXXX""",
    "intra-item-causal": """
        AA BB TT
        X.XXXX
        XXXXXX
        XXX.XX
        XXXXXX
        XXXXX.
        XXXXXX""",
    "prefix": """
        AA BB TT
        XXXX..
        XXXX..
        XXXX..
        XXXX..
        XXXXXX
        XXXXXX""",
}


def drawn(mask: torch.Tensor) -> list[str]:
    return ["".join("X" if seen else "." for seen in row) for row in mask.tolist()]


@pytest.mark.parametrize("pattern", PICTURES)
def test_pattern_looks_like_its_picture(pattern):
    assert drawn(attention_mask(pattern, sequence_tokens(2, 2))) == PICTURES[pattern].split()[3:]


def test_chosen_queries_give_rows_of_the_whole_mask():
    whole = sequence_tokens(3, 2)
    target = sequence_tokens(3, 2)
    rows = type(whole)(target.item[-2:], target.slot[-2:], target.is_target[-2:])
    for pattern in PICTURES:
        assert torch.equal(attention_mask(pattern, rows, whole), attention_mask(pattern, whole)[-2:])


def test_padding_is_seen_by_nobody_but_itself():
    mask = without_padding(attention_mask("causal", sequence_tokens(1, 2, n_targets=0)), torch.tensor([[False, True]]))
    assert mask.shape == (1, 1, 2, 2)
    assert drawn(mask[0, 0]) == ["X.", ".X"]


def picture(mask: Tensor) -> list[str]:
    return ["".join("X" if seen else "." for seen in row) for row in mask.tolist()]


def test_one_pass_picture() -> None:
    """Two clean items, then their two targets, one code each: a target sees the clean items before it and itself."""
    assert picture(one_pass_mask(2, 1)) == [
        "X...",
        "XX..",
        "X.X.",
        "XX.X",
    ]


def test_target_picture() -> None:
    assert picture(target_mask(3)) == ["X..", "XX.", "XXX"]
