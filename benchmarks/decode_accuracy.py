"""What each way of decoding costs and finds: accuracy with paired intervals, and milliseconds per user.

    python benchmarks/decode_accuracy.py DATA MODEL [MODEL ...] --out docs/results/decoding

All ways are asked for the same users of the test split, so that differences are paired. Nothing is chosen here: the
figures only say what the shorter ways give up.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from sidrec.data.dataset import Cases, Dataset
from sidrec.metrics.ranking import gains, hits, ranks_of
from sidrec.metrics.significance import bootstrap_interval, paired_bootstrap
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.request import Request

K = 10
WAYS: tuple[tuple[str, dict[str, object]], ...] = (
    ("T=4", {}),
    ("T=4, unconstrained", {"only_real_items": False}),
    ("T=2", {"n_steps": 2}),
    ("T=2, unconstrained", {"n_steps": 2, "only_real_items": False}),
    ("T=1", {"n_steps": 1}),
    ("T=1, unconstrained", {"n_steps": 1, "only_real_items": False}),
    ("T=4, narrowing 50,50,20,10", {"narrowing": (50, 50, 20, 10)}),
    ("T=4, lazy expansion", {"lazy": True}),
    ("one slot, then every item that fits", {"method": "score-fitting"}),
    ("score every item (one pass)", {"method": "score-all"}),
    ("T=4, frozen history", {"frozen_history": True}),
    ("T=4, left to right", {"order": "left-to-right"}),
    ("T=4, right to left", {"order": "right-to-left"}),
)


@dataclass(frozen=True)
class Row:
    """One way of one model."""

    model: str
    way: str
    recall: NDArray[np.float64]
    ndcg: NDArray[np.float64]
    invalid_rate: float
    not_found: int
    ms_per_user: float


def judge(name: str, model: LLaDARec, way: str, search: dict[str, object], cases: Cases) -> Row:
    chosen = model.with_search(search)
    chosen.rank_report(Request(cases.take(np.arange(min(32, len(cases)))).histories, K))  # warm up
    start = time.perf_counter()
    report = chosen.rank_report(Request(cases.histories, K))
    seconds = time.perf_counter() - start
    ranks = ranks_of(report.ranking.items, cases.targets)
    shown = report.ranking.items[report.ranking.items >= 0]
    unknown = int((shown >= len(model.catalog)).sum())
    invalid = float(report.invalid.sum() / max(report.generated.sum(), 1))
    return Row(name, way, hits(ranks, K), gains(ranks, K), invalid, unknown, 1000 * seconds / len(cases))


def table(rows: list[Row], n_users: int, note: str) -> str:
    first = {row.model: row for row in reversed(rows) if row.way == "T=4"}
    lines = [
        "# Decoding: what each way finds and costs",
        "",
        note,
        "",
        f"Test split, {n_users:,} users, full catalogue, no seen-item filter, B=50, item match. Intervals are 95 %",
        "bootstrap intervals; `difference` is NDCG@10 against the same model's T=4 row, paired by user. Invalid: share",
        "of generated IDs that no item has (0 by construction where only real items are generated).",
        "",
        "| model | way | Recall@10 | NDCG@10 | 95 % | difference, paired 95 % | invalid | ms/user |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        spread = bootstrap_interval(row.ndcg)
        base = first[row.model]
        gap = paired_bootstrap(base.ndcg, row.ndcg)
        apart = "-" if row is base else f"{gap.difference:+.4f} ({gap.interval.low:+.4f} to {gap.interval.high:+.4f})"
        lines.append(
            f"| {row.model} | {row.way} | {row.recall.mean():.4f} | {row.ndcg.mean():.4f} "
            f"| {spread.low:.4f} to {spread.high:.4f} | {apart} | {row.invalid_rate:.1%} | {row.ms_per_user:.1f} |"
        )
    return "\n".join(lines) + "\n"


Point = tuple[str, str, float, float]
"""Model, way, milliseconds per user, NDCG@10."""


def draw(points: list[Point], path: Path) -> None:
    """One numbered dot per row; the numbers are explained beside the picture, where they cannot overlap."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    ways = list(dict.fromkeys(way for _, way, _, _ in points))
    figure, axes = plt.subplots(figsize=(10, 5.5))
    for marker, model in zip("os^v", dict.fromkeys(model for model, *_ in points), strict=False):
        mine = [point for point in points if point[0] == model]
        times, values = [point[2] for point in mine], [point[3] for point in mine]
        axes.scatter(times, values, label=model, s=170, alpha=0.45, marker=marker)
        for _, way, ms, value in mine:
            axes.annotate(str(ways.index(way) + 1), (ms, value), fontsize=7, ha="center", va="center")
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds per user (log scale)")
    axes.set_ylabel("test NDCG@10")
    axes.legend(loc="lower right")
    axes.grid(alpha=0.3)
    key = "\n".join(f"{number}  {way}" for number, way in enumerate(ways, start=1))
    figure.tight_layout(rect=(0, 0, 0.72, 1))
    figure.text(0.73, 0.93, key, fontsize=9, va="top")
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True, help="path without ending: .md and .svg are written")
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--note", default="")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    cases = Dataset.load(options.data).cases("test")
    chosen = np.sort(np.random.default_rng(0).permutation(len(cases))[: options.users])
    cases = cases.take(chosen)
    rows = []
    for path in options.models:
        model = LLaDARec.load(path)
        for way, search in WAYS:
            shared = model.settings.attention in ("prefix", "inter-item-causal", "causal")
            if "frozen_history" in search and shared:
                continue  # already exact there
            rows.append(judge(model.settings.attention, model, way, search, cases))
            print(
                f"{rows[-1].model:16s} {way:38s} NDCG@10 {rows[-1].ndcg.mean():.4f}  {rows[-1].ms_per_user:.1f} ms",
                flush=True,
            )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{options.out}.md").write_text(table(rows, len(cases), options.note), encoding="utf-8")
    points = [(row.model, row.way, row.ms_per_user, float(row.ndcg.mean())) for row in rows]
    draw(points, Path(f"{options.out}.svg"))
    found = {f"{row.model} {row.way}": round(float(row.ndcg.mean()), 5) for row in rows}
    print(json.dumps({**found, "unknown_items_returned": sum(row.not_found for row in rows), "users": len(cases)}))


if __name__ == "__main__":
    main()
