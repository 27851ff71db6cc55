from __future__ import annotations

import numpy as np
import pytest

from sidrec.serving.title_search import TitleSearch

TITLES = ["Red lamp", "Red lamp with red shade", "Blue lamp", "Lampshade, blue", "Äpfel & Öl", "", "red"]
SEARCH = TitleSearch.of(TITLES, np.array([1, 9, 1, 1, 1, 1, 5]))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("red lamp", [0, 1]),  # shorter titles first
        ("RED  LAMP!", [0, 1]),
        ("lamp", [0, 2, 1, 3]),  # the whole word before its beginning
        ("blue lam", [2, 3]),
        ("red", [6, 0, 1]),
        ("äpf", [4]),
        ("red xylophone", [6, 0, 1]),  # nobody has both: as many as can be
        ("xylophone", []),
        ("lamp red", [0, 1]),
    ],
)
def test_the_best_match_comes_first(query, expected):
    found, total = SEARCH.find(query, 10)
    assert (found, total) == (expected, len(expected))


def test_without_words_the_most_popular():
    assert SEARCH.find("  ", 2) == ([1, 6], 7)


def test_the_list_is_cut_and_the_rest_counted():
    assert SEARCH.find("lamp", 1) == ([0], 4)


def test_of_many_items_exactly_those_with_the_words():
    """How fast it is at 100,000: benchmarks/title_search.py."""
    picked = np.random.default_rng(0).integers(50, size=(3_000, 6))
    titles = [" ".join(f"word{number}" for number in row) for row in picked]
    found, total = TitleSearch.of(titles, np.zeros(3_000, np.int64)).find("word17 word4", 3_000)
    finished = {place for place, row in enumerate(picked) if 17 in row and any(str(each)[0] == "4" for each in row)}
    assert {*found} == finished and total == len(finished)
