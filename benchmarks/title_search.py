"""How long a service looks for titles: the index, once, and searches for words of several kinds (CPU time).

Run: python benchmarks/title_search.py [--items 100000]
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import median

import numpy as np

from sidrec.serving.title_search import TitleSearch

QUERIES = {
    "two words": "word17 word4",
    "one letter": "w",
    "a rare word": "word1234",
    "no such word": "zebra",
    "nothing": "",
}
N_WORDS, TITLE_LENGTH = 5_000, 6


def milliseconds(search: TitleSearch, query: str) -> float:
    start = time.process_time()
    search.find(query, 20)
    return (time.process_time() - start) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=100_000)
    n_items = parser.parse_args().items
    words = np.array([f"word{number}" for number in range(N_WORDS)])
    picked = np.random.default_rng(0).integers(N_WORDS, size=(n_items, TITLE_LENGTH))
    titles = [" ".join(words[row]) for row in picked]
    start = time.process_time()
    search = TitleSearch.of(titles, np.arange(n_items))
    built = (time.process_time() - start) * 1e3
    found = {name: median(milliseconds(search, query) for _ in range(9)) for name, query in QUERIES.items()}
    print(f"index of {n_items:,} titles: {built:.0f} ms")
    for name, took in found.items():
        print(f"{name:14} {took:7.2f} ms")
    print(json.dumps({"items": n_items, "built_ms": built, "search_ms": found, "slowest_ms": max(found.values())}))


if __name__ == "__main__":
    main()
