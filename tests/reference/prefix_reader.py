"""A reader of IDs that knows a code's beginning only by what it may see, and the search written out."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch

from reference.masked_search import MASK, Codes, Table
from sidrec.decoding.left_to_right import LeftToRight


def predict_by_reading(table: Table, users: list[int], n_codes: int) -> LeftToRight:
    """The table asked through a reader that keeps codes in the order in which it was given them."""
    kept: list[list[tuple[int, int]]] = [[] for _ in users]  # of each user: (slot, code)

    def prediction(user: int, path: list[tuple[int, int]]) -> np.ndarray:
        assert [slot for slot, _ in path] == list(range(len(path))), "a path goes from slot to slot"
        codes = tuple(code for _, code in path) + (MASK,) * (n_codes - len(path))
        return table(user, codes)[len(path)]

    def read(codes: torch.Tensor, slot: int, sees: torch.Tensor) -> torch.Tensor:
        found = []
        for row, user in enumerate(users):
            kept[row] += [(slot, code) for code in codes[row].tolist()]
            assert sees.shape[-1] == len(kept[row]), "everything kept can be seen or not"
            paths = [[kept[row][at] for at in seen.nonzero().flatten().tolist()] for seen in sees[row]]
            found.append([prediction(user, path) for path in paths])
        return torch.from_numpy(np.array(found))

    first = torch.from_numpy(np.array([prediction(user, []) for user in users]))
    return LeftToRight(first, read)


def every_score(table: Table, user: int, shape: tuple[int, int]) -> dict[Codes, float]:
    """Brute force: log-probability of every ID, code after code."""
    n_codes, codebook_size = shape
    scores = {}
    for goal in product(range(codebook_size), repeat=n_codes):
        begun = [(*goal[:slot], *(MASK,) * (n_codes - slot)) for slot in range(n_codes)]
        scores[goal] = sum(float(table(user, codes)[slot, goal[slot]]) for slot, codes in enumerate(begun))
    return scores
