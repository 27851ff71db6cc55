from __future__ import annotations

import pytest

from sidrec.core.errors import InputError
from sidrec.models.lcrec.words import Words

TEXTS = ["red lamp", "red kettle", "Blue lamp for the garden"] * 3


def test_words_of_the_catalogue_become_single_tokens():
    words = Words.learned(TEXTS, 400)
    assert len(words.encode("red lamp")) == 2
    assert words.encode("Red Lamp") == words.encode("red lamp")
    assert words.tokenizer.decode(words.encode("zebra ñ")).strip() == "zebra ñ"  # never seen, still said
    assert words.encode("red lamp", 1) == words.encode("red lamp")[:1]
    assert words.size <= 400


def test_the_same_texts_give_the_same_words():
    assert Words.learned(TEXTS, 300).tokenizer.to_str() == Words.learned(TEXTS, 300).tokenizer.to_str()


def test_a_directory_without_a_tokenizer_says_what_is_needed(tmp_path):
    with pytest.raises(InputError, match=r"has no tokenizer\.json"):
        Words.of_base(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read as a tokenizer"):
        Words.of_base(tmp_path)
