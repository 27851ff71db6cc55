from __future__ import annotations

import numpy as np
import pytest

from reference.tfidf_by_hand import tfidf_by_hand
from sidrec.core.errors import ArtifactError, InputError
from sidrec.embeddings.base import EncoderState
from sidrec.embeddings.tfidf import TfidfEncoder, words

TEXTS = ["red wool coat", "red red cotton coat", "blue cotton shirt", "a green tea"]


def test_words_of_many_scripts():
    assert words("Größe XL, 5-pack_2") == ["grösse", "xl", "5", "pack", "2"]
    assert words("日本語 book") == ["日本", "本語", "book"]
    assert words("本") == ["本"]
    assert words("हिन्दी किताब") == ["हिन्दी", "किताब"]
    assert words("كتابٌ جديد") == ["كتابٌ", "جديد"]


def test_similarities_are_those_of_the_textbook():
    encoder = TfidfEncoder()
    encoder.fit(TEXTS)
    vectors = encoder.encode(TEXTS)
    by_hand = tfidf_by_hand([text.split() for text in TEXTS])
    # all directions are kept, so the SVD only turns the space
    np.testing.assert_allclose(vectors @ vectors.T, by_hand @ by_hand.T, atol=1e-5)


def test_the_width_is_cut_to_the_directions_there_are():
    narrow, single = TfidfEncoder(width=2), TfidfEncoder()
    narrow.fit(TEXTS)
    single.fit(["word", "word"])
    assert (narrow.width, single.width) == (2, 1)
    np.testing.assert_allclose(np.abs(single.encode(["word", "other"])), [[1], [0]])


def test_a_restored_encoder_gives_the_same_vectors():
    encoder, again = TfidfEncoder(), TfidfEncoder()
    encoder.fit(TEXTS)
    state = encoder.state()
    again.restore(EncoderState(list(state.words), dict(state.arrays)))
    new = ["green wool", "unheard"]
    np.testing.assert_allclose(again.encode(new), encoder.encode(new), atol=1e-6)
    assert np.abs(again.encode(new)[0]).max() > 0.1


def test_nothing_to_learn_from_is_an_error_in_words():
    with pytest.raises(InputError, match="no item text has a single word"):
        TfidfEncoder().fit(["!!!", "..."])
    with pytest.raises(InputError, match="fit it on the catalogue's texts first"):
        TfidfEncoder().encode(["red"])


@pytest.mark.parametrize("words", [["oak"], ["oak", "oak", "table"], ["oak", "table", "a", "b"]])
def test_words_and_numbers_that_do_not_fit_are_refused(words):
    encoder = TfidfEncoder()
    encoder.fit(["oak table", "oak chair"])
    with pytest.raises(ArtifactError, match="do not fit together"):
        TfidfEncoder().restore(EncoderState(words, encoder.state().arrays))
