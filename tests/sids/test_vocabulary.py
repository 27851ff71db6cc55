from __future__ import annotations

import numpy as np
import pytest

from sidrec.core.errors import InputError, SettingsError
from sidrec.sids.vocabulary import Vocabulary


def test_blocks_stand_behind_the_special_tokens() -> None:
    vocabulary = Vocabulary((2, 5, 3))
    assert (vocabulary.PAD, vocabulary.MASK, vocabulary.BOS) == (0, 1, 2)
    assert vocabulary.offsets.tolist() == [3, 5, 10]
    assert vocabulary.size == 13 and vocabulary.n_codes == 3
    assert vocabulary.tokens_of(np.array([[0, 0, 0], [1, 4, 2]])).tolist() == [[3, 5, 10], [4, 9, 12]]


def test_codes_come_back_and_masks_too() -> None:
    vocabulary = Vocabulary((4, 4))
    codes = np.array([[[0, 3], [-1, 2]]])
    assert vocabulary.tokens_of(codes).tolist() == [[[3, 10], [1, 9]]]
    assert (vocabulary.codes_of(vocabulary.tokens_of(codes)) == codes).all()


def test_foreign_codes_and_tokens_are_refused() -> None:
    vocabulary = Vocabulary((2, 3))
    with pytest.raises(InputError, match="outside their codebooks"):
        vocabulary.tokens_of(np.array([[2, 0]]))
    with pytest.raises(InputError, match="order of the slots"):
        vocabulary.codes_of(np.array([[5, 3]]))
    with pytest.raises(InputError, match="has 2 codes"):
        vocabulary.tokens_of(np.array([[0, 0, 0]]))
    with pytest.raises(SettingsError, match="at least one code"):
        Vocabulary((3, 0))
