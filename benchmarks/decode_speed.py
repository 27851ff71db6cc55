"""Decoding speed at the paper's size: the literal way against ours, in one run, contestants taking turns.

d_model 256, 8 heads, 4 layers, 20 items of history, M=4, K=256, B=50. Weights are random: speed depends on none.
The literal way repeats the history for every beam at every step, computes every row of every layer and all logits.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from constraint_speed import measure_all, skewed_codes
from sidrec.decoding.diffusion import Predict, search
from sidrec.decoding.graph_walk import walk
from sidrec.decoding.item_graph import ItemGraph
from sidrec.decoding.item_index.index import ItemIndex
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.top_k import first_best
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.llada_rec.network import MaskPredictor
from sidrec.models.llada_rec.predict import make_predict
from sidrec.models.rpg import RPGNetwork, RPGSettings
from sidrec.models.tiger.config import TigerSettings
from sidrec.models.tiger.network import IdWriter
from sidrec.models.tiger.predict import make_predict as tiger_predict
from sidrec.nn.item_vectors import ItemFeatures
from sidrec.sids.semantic_ids import SemanticIds

N_CODES, K, N_HISTORY, BEAMS, D_MODEL, N_LAYERS, D_FF = 4, 256, 20, 50, 256, 4, 1024
N_ITEMS, MANY_ITEMS, RPG_DIGITS = 25_000, 250_000, 32
SIZES = (K,) * N_CODES


def network(attention: str) -> MaskPredictor:
    torch.manual_seed(0)
    settings = LLaDARecSettings.model_validate(
        {"d_model": D_MODEL, "n_heads": 8, "n_layers": N_LAYERS, "d_ff": D_FF, "attention": attention}
    )
    ids = SemanticIds(skewed_codes(N_ITEMS), SIZES, [str(item) for item in range(N_ITEMS)])
    module = MaskPredictor(ids, settings).eval()
    torch.nn.init.normal_(module.head, std=0.3)  # confident enough that beams differ
    return module


def histories(n_users: int) -> Tensor:
    return torch.randint(0, N_ITEMS, (n_users, N_HISTORY))


def literal(module: MaskPredictor, items: Tensor) -> Tensor:
    """The published procedure: B copies from the first step on, full passes, logits over the whole vocabulary."""
    users = len(items)
    codes = torch.full((users, BEAMS, N_CODES), -1)
    scores = torch.full((users, BEAMS), -1e9)
    scores[:, 0] = 0.0
    past = module.item_tokens.codes_of(items).repeat_interleave(BEAMS, 0)
    mask = module.mask_for(N_HISTORY, None, with_target=True)
    for _ in range(N_CODES):
        rows = torch.cat([past, codes.flatten(0, 1)[:, None]], 1)
        hidden = module.transformer(module.embed_sequence(rows, None, with_target=True), mask).view(*rows.shape, -1)
        logits = hidden @ module.head.flatten(0, 1).mT  # every row: (users * B, items, M, M * K)
        log_probs = logits.log_softmax(-1)[:, -1].view(users, BEAMS, N_CODES, N_CODES, K)
        own = log_probs[:, :, torch.arange(N_CODES), torch.arange(N_CODES)]  # (users, B, M, K)
        slot = own.amax(-1).masked_fill(codes >= 0, -torch.inf).argmax(-1)  # (users, B)
        totals = scores[..., None] + own.gather(2, slot[..., None, None].expand(-1, -1, 1, K)).squeeze(2)
        scores, columns = first_best(totals.flatten(1), BEAMS)
        parents = columns // K
        codes = codes.gather(1, parents[..., None].expand(-1, -1, N_CODES))
        codes = codes.scatter(2, slot.gather(1, parents)[..., None], (columns % K)[..., None])
    return codes


@dataclass(frozen=True)
class Way:
    """One row of the table."""

    name: str
    attention: str
    n_steps: int = N_CODES
    lazy_block: int = 0
    constrained: bool = False

    def run(self, module: MaskPredictor, items: Tensor, index: ItemIndex) -> None:
        plan = SearchPlan(N_CODES, 10 if self.lazy_block else BEAMS, self.n_steps, BEAMS, lazy_block=self.lazy_block)
        predict: Predict = make_predict(module, items)
        search(predict, len(items), plan, index if self.constrained else None)


WAYS = (
    Way("exact, bidirectional", "bidirectional"),
    Way("exact, prefix", "prefix"),
    Way("prefix, only real items", "prefix", constrained=True),
    Way("prefix, lazy expansion, top 10", "prefix", lazy_block=10),
    Way("prefix, T=2", "prefix", n_steps=2),
    Way("prefix, T=1", "prefix", n_steps=1),
)


Ask = Callable[[Tensor, ItemIndex], object]
"""One batch of histories, searched among an index of real items."""


def tiger() -> Ask:
    """TIGER in its published size: 128 wide, 4 layers each way; keys and values kept, 50 beams."""
    torch.manual_seed(0)
    ids = SemanticIds(skewed_codes(N_ITEMS), SIZES, [str(item) for item in range(N_ITEMS)])
    writer = IdWriter(ids, TigerSettings()).eval()
    plan = SearchPlan(N_CODES, BEAMS, N_CODES, BEAMS, order="left-to-right")

    def ask(items: Tensor, index: ItemIndex) -> object:
        nobody = torch.full((len(items),), writer.nobody)
        return search(tiger_predict(writer, items, nobody), len(items), plan, index)

    return ask


def rpg(method: Literal["graph", "full"], n_items: int = N_ITEMS) -> Ask:
    """RPG with 32 digits and its other defaults: all digits from one pass, then a walk or every item; top 10."""
    torch.manual_seed(0)
    codes = torch.from_numpy(skewed_codes(n_items, n_codes=RPG_DIGITS)).long()
    features = ItemFeatures(codes=codes, sizes=(K,) * RPG_DIGITS)
    settings = RPGSettings()
    speaker = RPGNetwork(n_items, settings, features).eval()
    table, how, plan = speaker.item_table(), settings.graph, settings.search.plan(10)
    graph = ItemGraph.build(codes, speaker.code_vectors(), how.n_edges, how.n_doors) if method == "graph" else None

    def ask(items: Tensor, index: ItemIndex) -> object:  # noqa: ARG001
        queries = speaker.queries(items)
        if graph is None:
            return first_best(speaker.scores(queries, table), 10)
        return walk(speaker.log_probs(queries), graph, plan)

    return ask


def rpg_growth(rounds: int) -> dict[str, float]:
    """Milliseconds of one user, one thread, for a small and a large catalogue: by a walk, and by scoring every item."""
    ways = {(method, n): rpg(method, n) for method in ("graph", "full") for n in (N_ITEMS, MANY_ITEMS)}
    nothing = ItemIndex(skewed_codes(10), SIZES)
    times: dict[tuple[str, int], list[float]] = {way: [] for way in ways}
    for _ in range(rounds + 1):
        items = histories(1)
        for way, ask in ways.items():
            times[way].append(timed(partial(ask, items, nothing)))
    return {f"rpg_{way}_ms_{n // 1000}k": 1000 * statistics.median(found[1:]) for (way, n), found in times.items()}


OTHERS: dict[str, Callable[[], Ask]] = {
    "tiger, only real items": tiger,
    "rpg, graph walk, top 10": partial(rpg, "graph"),
    "rpg, every item, top 10": partial(rpg, "full"),
}
"""Rows of other models, beside LLaDA-Rec's."""


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def contest(n_users: int, rounds: int, index: ItemIndex, *, slow_rounds: int) -> dict[str, float]:
    """Median milliseconds a user of every way; the slow ones take fewer turns."""
    nets = {pattern: network(pattern) for pattern in ("bidirectional", "prefix")}
    others = {name: build() for name, build in OTHERS.items()}
    times: dict[str, list[float]] = {"literal": [], **{way.name: [] for way in WAYS}, **{name: [] for name in others}}
    for turn in range(rounds + 1):
        items = histories(n_users)
        if turn <= slow_rounds:
            times["literal"].append(timed(partial(literal, nets["bidirectional"], items)))
        for way in WAYS:
            if way.attention == "prefix" or turn <= slow_rounds:
                times[way.name].append(timed(partial(way.run, nets[way.attention], items, index)))
        for name, ask in others.items():
            times[name].append(timed(partial(ask, items, index)))
    return {name: 1000 * statistics.median(values[1:]) / n_users for name, values in times.items()}


def latencies(index: ItemIndex, repeats: int) -> tuple[float, float]:
    """p50 and p95 milliseconds of one request: prefix, T=4, only real items."""
    module, way = network("prefix"), WAYS[2]
    found = sorted(1000 * timed(lambda: way.run(module, histories(1), index)) for _ in range(repeats))
    return found[len(found) // 2], found[int(0.95 * len(found))]


def prefix_flops() -> float:
    """One user: the history pass with the first step in it, then three steps of B beams of M rows."""
    linear, attention = 2 * (4 * D_MODEL**2 + 3 * D_MODEL * D_FF), 4 * D_MODEL
    n = N_HISTORY * N_CODES
    whole = (n + N_CODES) * linear + (n + N_CODES) ** 2 * attention
    last = (n + N_CODES) * 4 * D_MODEL**2 + N_CODES * linear
    rows = BEAMS * N_CODES
    step = N_LAYERS * rows * (linear + (n + N_CODES) * attention) + rows * 2 * D_MODEL * K
    return (N_LAYERS - 1) * whole + last + (N_CODES - 1) * step


def peak_flops() -> float:
    a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    return 2 * 2048**3 / min(timed(lambda: a @ b) for _ in range(5))


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--slow-rounds", type=int, default=3)
    parser.add_argument("--without-constraint-sizes", action="store_true", help="skip the 25k / 1M / 10M items part")
    options = parser.parse_args()
    index = ItemIndex(skewed_codes(N_ITEMS), SIZES)
    torch.set_num_threads(1)
    one = contest(1, options.rounds, index, slow_rounds=options.slow_rounds)
    p50, p95 = latencies(index, 60)
    torch.set_num_threads(2)
    many = contest(16, options.rounds, index, slow_rounds=options.slow_rounds)
    peak = peak_flops()
    share = prefix_flops() / (many["exact, prefix"] / 1000) / peak
    columns = f"{'ms, b=1, 1 thread':>18s} {'x':>7s} {'ms/user, b=16, 2 threads':>25s} {'x':>7s} {'users/s':>8s}"
    print(f"{'way':34s} {columns}")
    for name in one:
        gains = one["literal"] / one[name], many["literal"] / many[name]
        print(
            f"{name:34s} {one[name]:18.1f} {gains[0]:7.1f} {many[name]:25.1f} {gains[1]:7.1f} {1000 / many[name]:8.1f}"
        )
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nfp32 peak {peak / 1e9:.0f} GFLOP/s on 2 threads; prefix reaches {share:.0%} of it; memory {gib:.1f} GiB")
    print(f"one request (prefix, T=4, only real items): p50 {p50:.1f} ms, p95 {p95:.1f} ms\n")
    torch.set_num_threads(1)
    growth = rpg_growth(options.rounds)
    for name, value in growth.items():
        print(f"{name:34s} {value:18.1f}")
    sizes = {} if options.without_constraint_sizes else measure_all(["25k", "1m", "10m"])
    figures = {
        "bidirectional_ratio_b1": one["literal"] / one["exact, bidirectional"],
        "bidirectional_ratio_b16": many["literal"] / many["exact, bidirectional"],
        "prefix_ratio_b1": one["literal"] / one["exact, prefix"],
        "prefix_ratio_b16": many["literal"] / many["exact, prefix"],
        "lazy_ratio_b1": one["exact, prefix"] / one["prefix, lazy expansion, top 10"],
        "lazy_ratio_b16": many["exact, prefix"] / many["prefix, lazy expansion, top 10"],
        "t2_ratio_b16": many["literal"] / many["prefix, T=2"],
        "t1_ratio_b16": many["literal"] / many["prefix, T=1"],
        "tiger_ms_b1": one["tiger, only real items"],
        "tiger_users_per_s_b16": 1000 / many["tiger, only real items"],
        **growth,
        "share_of_peak": share,
        "p50_ms_b1": p50,
        "p95_ms_b1": p95,
        **sizes,
    }
    print(json.dumps({name: round(float(np.round(value, 3)), 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
