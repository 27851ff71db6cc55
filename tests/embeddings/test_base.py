from __future__ import annotations

import numpy as np

from reference.letters_encoder import LettersEncoder


def test_rows_come_back_in_the_order_given_whatever_the_encoder_did():
    encoder = LettersEncoder()  # reads from the last text to the first
    np.testing.assert_array_equal(encoder.encode(["a", "bb", "cab"]), [[1, 0, 0], [0, 2, 0], [1, 1, 1]])
    assert encoder.read == ["cab", "bb", "a"]


def test_no_texts_give_no_rows():
    assert LettersEncoder().encode([]).shape == (0, 3)


def test_an_encoder_that_learns_nothing_has_no_state():
    encoder = LettersEncoder()
    encoder.fit(["a"])
    assert encoder.state() is None
