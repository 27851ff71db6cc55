from __future__ import annotations

import pytest

from sidrec.data.near_words import NearWords


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("acme", "Acme"), ("Zol", "Zoll"), ("ZOLL", "Zoll"), ("Moebius", "Möbius"), ("xyz", None), ("", None)],
)
def test_the_same_but_for_case_or_else_the_nearest(asked, meant):
    assert NearWords(["Acme", "Zoll", "zoll", "Möbius"]).to(asked) == meant


def test_of_many_words_the_case_is_still_told():
    many = [f"word {number}" for number in range(5_000)]
    assert NearWords([*many, "Worm"]).to("worm") == "Worm"
    assert NearWords(many).to("word 10x") is not None
