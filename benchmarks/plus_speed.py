"""Users per second of top-10, llada-rec-plus beside sasrec-ce of the same width, at growing catalogues.

    python benchmarks/plus_speed.py [--d-model 64] [--items 4000 100000 1000000]

Weights are random: speed does not depend on them, and no structure helps the scan. Up to 1 M items both score all items
(blocked matrix product); from there on both take a compressed scan whose candidates are scored exactly.
`recall_vs_exact_1m` compares the list with a brute-force ranking. The ratio is the median over rounds in which both
models had the same users one after the other. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time

import numpy as np
import polars as pl
import torch

from sidrec.data.catalog import Catalog
from sidrec.data.histories import Histories
from sidrec.models.item_scorer import ItemScorer
from sidrec.models.registry import find_model
from sidrec.models.request import Request
from sidrec.models.stock import Stock
from sidrec.nn.item_vectors import ItemFeatures

NAMES = {4_000: "4k", 100_000: "100k", 1_000_000: "1m"}
USERS = {4_000: 2_048, 100_000: 128, 1_000_000: 64}
HISTORY, ROUNDS, CODES, TEXT_WIDTH = 8, 21, (256,) * 4, 128


def known(n_items: int) -> ItemFeatures:
    draw = torch.Generator().manual_seed(0)
    codes = torch.randint(256, (n_items, len(CODES)), generator=draw)
    return ItemFeatures(codes, CODES, torch.randn(n_items, TEXT_WIDTH, generator=draw))


def build(key: str, n_items: int, d_model: int) -> ItemScorer:
    model = find_model(key).make(d_model=d_model, dropout=0.0)
    assert isinstance(model, ItemScorer)
    torch.manual_seed(0)
    features = known(n_items) if key == "llada-rec-plus" else ItemFeatures()
    model.network = model._build(n_items, features).eval()
    ids = pl.DataFrame({"item_id": pl.Series(np.arange(n_items)).cast(pl.String)})
    model._stock = Stock(Catalog(ids), np.zeros(n_items, np.int64))
    return model


def histories(n_items: int, n_users: int) -> Histories:
    items = np.random.default_rng(0).integers(n_items, size=n_users * HISTORY).astype(np.int32)
    return Histories(items, np.arange(n_users + 1, dtype=np.int64) * HISTORY)


def seconds(model: ItemScorer, request: Request) -> float:
    began = time.perf_counter()
    model.rank(request)
    return time.perf_counter() - began


def rounds(models: list[ItemScorer], request: Request) -> list[list[float]]:
    """Seconds of each model in each round, in turn, so that a busy machine disturbs them alike."""
    for model in models:
        model.rank(request.take(np.arange(8)))  # sums up tables
    return [[seconds(model, request) for model in models] for _ in range(ROUNDS)]


@torch.no_grad()
def recall_vs_exact(model: ItemScorer, n_items: int, n_users: int = 64) -> float:
    """Share of the brute-force ten best that the model's ranking holds."""
    request, network = Request(histories(n_items, n_users), 10), model.network
    assert network is not None
    queries = network.queries(torch.from_numpy(request.histories.items.astype(np.int64)).view(n_users, -1))
    wanted = [(network.item_table() @ query).topk(10).indices.tolist() for query in queries]
    found = model.rank(request).items
    return float(np.mean([len(set(row.tolist()) & set(best)) / 10 for row, best in zip(found, wanted, strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--d-model", type=int, default=64)
    parser.add_argument("--items", type=int, nargs="+", default=sorted(NAMES))
    options = parser.parse_args()
    found: dict[str, float] = {}
    for n_items in options.items:
        name, n_users = NAMES.get(n_items, str(n_items)), USERS.get(n_items, 256)
        models = [build(key, n_items, options.d_model) for key in ("llada-rec-plus", "sasrec-ce")]
        first = seconds(models[0], Request(histories(n_items, 1), 10))
        times = rounds(models, Request(histories(n_items, n_users), 10))
        plus, sasrec = (n_users / min(column) for column in zip(*times, strict=True))
        found[f"plus_users_per_second_{name}"], found[f"sasrec_users_per_second_{name}"] = round(plus), round(sasrec)
        found[f"plus_ratio_{name}"] = round(statistics.median(other / own for own, other in times), 3)
        found[f"first_answer_seconds_{name}"] = round(first, 2)
        found[f"recall_vs_exact_{name}"] = recall_vs_exact(models[0], n_items)
        found[f"peak_memory_gb_{name}"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
        print(f"{n_items:>9,} items: plus {plus:,.0f}, sasrec-ce {sasrec:,.0f} users/s", flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
