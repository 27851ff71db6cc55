from __future__ import annotations

import pytest

from sidrec.core.errors import SettingsError
from sidrec.sids.vocabulary import Vocabulary


def test_blocks_stand_behind_the_special_tokens() -> None:
    vocabulary = Vocabulary((2, 5, 3))
    assert (vocabulary.PAD, vocabulary.MASK, vocabulary.BOS) == (0, 1, 2)
    assert vocabulary.offsets.tolist() == [3, 5, 10]
    assert vocabulary.size == 13 and vocabulary.n_codes == 3


def test_a_codebook_without_codes_is_refused() -> None:
    with pytest.raises(SettingsError, match="at least one code"):
        Vocabulary((3, 0))
