"""Are all returned items real? Every number of steps, for each given model, constrained and not, on the same users.

python benchmarks/validity.py DATA MODEL [MODEL ...] --users 1000
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from sidrec.data.dataset import Cases, Dataset
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.request import Request

K = 10


def real_share(model: LLaDARec, cases: Cases, search: dict[str, object]) -> tuple[float, float]:
    """Share of generated IDs that belong to an item, looked up in a plain set, and share of the k places filled."""
    report = model.with_search(search).rank_report(Request(cases.histories, K))
    assert report.codes is not None
    known = {tuple(codes) for codes in model.semantic_ids.codes.tolist()}
    generated = [tuple(codes) for user in report.codes.tolist() for codes in user if codes[0] >= 0]
    return sum(codes in known for codes in generated) / len(generated), len(generated) / (K * len(cases))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--users", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    cases = Dataset.load(options.data).cases("test")
    cases = cases.take(np.sort(np.random.default_rng(0).permutation(len(cases))[: options.users]))
    figures: dict[str, float] = {}
    print(f"| {'pattern':18s} | T | real, only real items | places filled | invalid, unconstrained |")
    print("|---|---|---|---|---|")
    for path in options.models:
        model = LLaDARec.load(path)
        for steps in range(1, model.semantic_ids.n_codes + 1):
            real, filled = real_share(model, cases, {"n_steps": steps})
            free, _ = real_share(model, cases, {"n_steps": steps, "only_real_items": False})
            name = model.settings.attention
            print(f"| {name:18s} | {steps} | {real:.1%} | {filled:.1%} | {1 - free:.1%} |", flush=True)
            figures |= {f"{name} T={steps} real": real, f"{name} T={steps} invalid_unconstrained": round(1 - free, 4)}
    print(json.dumps({**figures, "users": len(cases)}))


if __name__ == "__main__":
    main()
