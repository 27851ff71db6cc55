"""What staying inside the catalogue costs: the any-order item index at 25k, 1M and 10M items.

Predictions are random and free, so only the search and its constraint are timed: M=4, K=256, B=50, T=4, one user at a
time. `validity_ms` is the time inside the constraint, `search_ms` that of the whole search without a network.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.data.histories import Histories
from sidrec.decoding.beam import pick
from sidrec.decoding.constraint import Constraint
from sidrec.decoding.diffusion import Predict, search
from sidrec.decoding.item_index.index import ItemIndex
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.search_space import ItemSearchSpace

N_CODES, CODEBOOK_SIZE, BEAM_SIZE, N_SEEN = 4, 256, 50, 20
SIZES = {"25k": 25_000, "1m": 1_000_000, "10m": 10_000_000}
PLAN = SearchPlan(n_codes=N_CODES, n_steps=N_CODES, beam_size=BEAM_SIZE, k=10)


class Timed:
    """A constraint that adds up the time spent in it."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint, self.seconds = constraint, 0.0

    def valid(self, codes: Tensor, slots: Tensor, n_filled: int | None = None) -> Tensor:
        start = time.perf_counter()
        valid = self.constraint.valid(codes, slots, n_filled)
        self.seconds += time.perf_counter() - start
        return valid

    def count(self, codes: Tensor) -> Tensor:
        return self.constraint.count(codes)


def skewed_codes(n_items: int, seed: int = 0, n_codes: int = N_CODES) -> NDArray[np.int32]:
    """Some codes are frequent and some rare, as learned codes are."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, CODEBOOK_SIZE + 1) ** 0.7
    columns = [rng.choice(CODEBOOK_SIZE, n_items, p=rng.permutation(share / share.sum())) for _ in range(n_codes)]
    return np.stack(columns, axis=1).astype(np.int32)


def random_predictions(seed: int = 0) -> Predict:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(N_CODES, 1, BEAM_SIZE, N_CODES, CODEBOOK_SIZE, generator=generator)
    tables = (logits * 2).log_softmax(-1)
    return lambda codes, slots: pick(tables[int((codes[0, 0] >= 0).sum()), :, : codes.shape[1]], slots)


def search_times(constraint: Constraint | None, repeats: int = 31) -> tuple[float, float]:
    """Median milliseconds a user: in the constraint, and of the whole search."""
    predict, inside, whole = random_predictions(), [], []
    for _ in range(repeats):
        timed = None if constraint is None else Timed(constraint)
        start = time.perf_counter()
        search(predict, 1, PLAN, timed)
        whole.append(1000 * (time.perf_counter() - start))
        inside.append(0.0 if timed is None else 1000 * timed.seconds)
    return statistics.median(inside[1:]), statistics.median(whole[1:])


def measure(n_items: int) -> dict[str, float]:
    """Build an index of `n_items` and search with it, plain and without a user's seen items."""
    codes = skewed_codes(n_items)
    start = time.perf_counter()
    space = ItemSearchSpace(codes, (CODEBOOK_SIZE,) * N_CODES)
    index: ItemIndex = space.index
    index.count(torch.full((1, 1, N_CODES), -1))  # the first question builds
    build = time.perf_counter() - start
    seen = np.random.default_rng(1).integers(0, n_items, N_SEEN, dtype=np.int32)
    unseen = space.constraint(Histories.from_lists([seen]), exclude_seen=True)
    validity, whole = search_times(index)
    validity_unseen, _ = search_times(unseen)
    return {
        "validity_ms": validity,
        "validity_unseen_ms": validity_unseen,
        "search_ms": whole,
        "build_s": build,
        "index_mb": index.n_bytes / 1e6,
    }


def measure_all(names: list[str]) -> dict[str, float]:
    found = {"unconstrained_search_ms": search_times(None)[1]}
    for name in names:
        row = measure(SIZES[name])
        print(name.rjust(4), "  ".join(f"{key} {value:.2f}" for key, value in row.items()), flush=True)
        found |= {f"{key}_{name}": value for key, value in row.items()}
    return {key: round(value, 3) for key, value in found.items()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    chosen = sys.argv[1:] or list(SIZES)
    if unknown := set(chosen) - set(SIZES):
        sys.exit(f"{Path(__file__).name}: unknown size {', '.join(sorted(unknown))}; choose from {', '.join(SIZES)}.")
    print(json.dumps(measure_all(chosen)))
